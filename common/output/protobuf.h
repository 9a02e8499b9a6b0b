/* SPDX-License-Identifier: GPL-2.0-only */
/* Protocol buffers, the encoding: https://protobuf.dev/programming-guides/encoding/ */
#ifndef PROTOBUF_H
#define PROTOBUF_H

#include <stddef.h>
#include <stdint.h>

/* A message under construction. All zero: an empty message. */
struct protobuf {
	unsigned char *bytes;
	size_t n, cap;
};

/* Frees the contents: the message is empty then. */
void protobuf_free(struct protobuf *pb);

/* Writes a number field; 0 is omitted, since an absent field reads as 0. */
void protobuf_uint(struct protobuf *pb, uint32_t field, uint64_t value);

/* Writes a field that is a string, bytes or a message, even if empty. */
void protobuf_bytes(struct protobuf *pb, uint32_t field, const void *bytes, size_t n);
void protobuf_message(struct protobuf *pb, uint32_t field, const struct protobuf *message);

/* Writes a packed list of numbers; an empty list is omitted. */
void protobuf_list(struct protobuf *pb, uint32_t field, const uint64_t *values, size_t n);

#endif
