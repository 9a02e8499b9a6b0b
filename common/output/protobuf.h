/* SPDX-License-Identifier: GPL-2.0-only */
/* Protocol buffers, the encoding: https://protobuf.dev/programming-guides/encoding/ */
#ifndef PROTOBUF_H
#define PROTOBUF_H

#include <stddef.h>
#include <stdint.h>

/* A message as far as it is put together. All zero: an empty one. */
struct protobuf {
	unsigned char *bytes;
	size_t n, cap;
};

/* Makes it empty again. */
void protobuf_free(struct protobuf *pb);

/* Writes a number field; 0 is omitted, as an absent field reads as 0. */
void protobuf_uint(struct protobuf *pb, uint32_t field, uint64_t value);

/* A field that is text, or bytes, or a message. Always written, if it is empty too. */
void protobuf_bytes(struct protobuf *pb, uint32_t field, const void *bytes, size_t n);
void protobuf_message(struct protobuf *pb, uint32_t field, const struct protobuf *message);

/* A field that is a list of numbers, packed; an empty list is left out. */
void protobuf_list(struct protobuf *pb, uint32_t field, const uint64_t *values, size_t n);

#endif
