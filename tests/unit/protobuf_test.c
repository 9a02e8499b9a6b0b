// SPDX-License-Identifier: GPL-2.0-only
/* The encoder of protocol buffers: bytes as the encoding's definition has them. */
#include "output/protobuf.h"
#include "unit.h"

static struct protobuf pb;

AFTER_EACH()
{
	protobuf_free(&pb);
}

static void check_bytes(const char *expected, size_t n)
{
	CHECK_EQ(pb.n, n);
	CHECK(pb.n == n && !memcmp(pb.bytes, expected, n));
	protobuf_free(&pb);
}

#define CHECK_BYTES(text) check_bytes(text, sizeof(text) - 1)

/* The examples of the encoding's description. */
TEST(numbers_are_varints)
{
	protobuf_uint(&pb, 1, 150);
	CHECK_BYTES("\x08\x96\x01");
	protobuf_uint(&pb, 1, 1);
	protobuf_uint(&pb, 1, 127);
	protobuf_uint(&pb, 1, 128);
	CHECK_BYTES("\x08\x01\x08\x7f\x08\x80\x01");
	protobuf_uint(&pb, 3, UINT64_MAX);
	CHECK_BYTES("\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
	protobuf_uint(&pb, 15, 1);
	protobuf_uint(&pb, 16, 1); /* takes two bytes */
	CHECK_BYTES("\x78\x01\x80\x01\x01");
}

TEST(zero_is_left_out)
{
	protobuf_uint(&pb, 1, 0);
	CHECK_EQ(pb.n, 0);
	protobuf_list(&pb, 1, NULL, 0);
	CHECK_EQ(pb.n, 0);
}

TEST(text_has_its_length_in_front)
{
	protobuf_bytes(&pb, 2, "testing", 7);
	CHECK_BYTES("\x12\x07testing");
	protobuf_bytes(&pb, 2, "", 0);
	CHECK_BYTES("\x12\x00");
}

TEST(long_text_has_a_length_of_several_bytes)
{
	static char text[20000];

	memset(text, 'x', sizeof(text));
	protobuf_uint(&pb, 1, 1);
	protobuf_bytes(&pb, 2, text, sizeof(text));
	protobuf_uint(&pb, 1, 1);
	CHECK_EQ(pb.n, 2 + 1 + 3 + sizeof(text) + 2);
	CHECK(!memcmp(pb.bytes, "\x08\x01\x12\xa0\x9c\x01", 6));
	CHECK(!memcmp(pb.bytes + 6, text, sizeof(text)));
	CHECK(!memcmp(pb.bytes + 6 + sizeof(text), "\x08\x01", 2));
}

TEST(messages_nest)
{
	struct protobuf inner = {};

	protobuf_uint(&inner, 1, 150);
	protobuf_message(&pb, 3, &inner);
	CHECK_BYTES("\x1a\x03\x08\x96\x01");
	protobuf_free(&inner);
}

TEST(lists_are_packed)
{
	const uint64_t values[] = { 3, 270, 86942, 0 };

	protobuf_list(&pb, 6, values, 4);
	CHECK_BYTES("\x32\x07\x03\x8e\x02\x9e\xa7\x05\x00");
}
