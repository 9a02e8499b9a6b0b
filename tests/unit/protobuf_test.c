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
