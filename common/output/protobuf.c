// SPDX-License-Identifier: GPL-2.0-only
/* The encoder of protocol buffers: varints, and length-prefixed fields. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "output/protobuf.h"

enum wire_type {
	WIRE_VARINT = 0,
	WIRE_LENGTH = 2, /* a length N, then N bytes */
};

void protobuf_free(struct protobuf *pb)
{
	free(pb->bytes);
	*pb = (struct protobuf){};
}

static void add_byte(struct protobuf *pb, unsigned char byte)
{
	*MEM_APPEND(pb->bytes, pb->n, pb->cap) = byte;
}

static void add_varint(struct protobuf *pb, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		add_byte(pb, (unsigned char)(value | 0x80));
	add_byte(pb, (unsigned char)value);
}

static size_t varint_bytes(uint64_t value)
{
	size_t n = 1;

	while (value >>= 7)
		n++;
	return n;
}

static void add_key(struct protobuf *pb, uint32_t field, enum wire_type type)
{
	add_varint(pb, (uint64_t)field << 3 | type);
}

void protobuf_uint(struct protobuf *pb, uint32_t field, uint64_t value)
{
	if (!value)
		return;
	add_key(pb, field, WIRE_VARINT);
	add_varint(pb, value);
}

void protobuf_bytes(struct protobuf *pb, uint32_t field, const void *bytes, size_t n)
{
	add_key(pb, field, WIRE_LENGTH);
	add_varint(pb, n);
	if (pb->cap - pb->n < n) {
		pb->cap = 2 * pb->cap + n;
		pb->bytes = mem_realloc(pb->bytes, pb->cap, 1);
	}
	if (n)
		memcpy(pb->bytes + pb->n, bytes, n);
	pb->n += n;
}

void protobuf_message(struct protobuf *pb, uint32_t field, const struct protobuf *message)
{
	protobuf_bytes(pb, field, message->bytes, message->n);
}

void protobuf_list(struct protobuf *pb, uint32_t field, const uint64_t *values, size_t n)
{
	size_t bytes = 0;

	for (size_t i = 0; i < n; i++)
		bytes += varint_bytes(values[i]);
	if (!n)
		return;
	add_key(pb, field, WIRE_LENGTH);
	add_varint(pb, bytes);
	for (size_t i = 0; i < n; i++)
		add_varint(pb, values[i]);
}
