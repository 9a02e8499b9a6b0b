/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads V8's objects in a process. Tagged words have the low bits 01; objects that the collector
 * moves are followed once. Everything is hostile: lengths and chains are bounded.
 */
#ifndef V8_HEAP_H
#define V8_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "runtimes/v8/layout.h"

#define V8_CODE_MAPS 16

struct v8_heap {
	pid_t pid; /* or the id of any thread of the process */
	const struct v8_file *v8;
	/*
	 * maps of machine code, which never move, by thread: before V8 10, each has its own. The
	 * latest threads; map 0: unknown
	 */
	struct {
		uint64_t owner;
		uint64_t map;
	} code_maps[V8_CODE_MAPS];
	size_t n_code_maps; /* number of maps found so far */
};

/* Bytes or characters copied from the heap. */
struct v8_bytes {
	uint8_t *bytes; /* freed with free() */
	size_t n;	/* elements */
	uint8_t unit;	/* bytes per element */
};

#define V8_NO_TYPE 0xffff

/* Returns the instance type of *object, or V8_NO_TYPE, and sets *object to its current address. */
uint16_t v8_heap_type(const struct v8_heap *heap, uint64_t *object);

/* Returns the word at an offset of an object; 0: unreadable. */
uint64_t v8_heap_word(const struct v8_heap *heap, uint64_t object, uint32_t offset);

/* Returns the 32-bit number at an offset of an object; 0: unreadable. */
uint32_t v8_heap_number(const struct v8_heap *heap, uint64_t object, uint32_t offset);

/* Returns the small integer at an offset of an object; 0: unreadable, or another value. */
int32_t v8_heap_small(const struct v8_heap *heap, uint64_t object, uint32_t offset);

/* Returns element i of an array; 0: unreadable, or out of bounds. */
uint64_t v8_heap_element(const struct v8_heap *heap, uint64_t array, uint32_t i);

/*
 * Reads n bytes at an address, in pieces. False: unreadable, or more than V8_BYTES_MAX; nothing to
 * free then.
 */
#define V8_BYTES_MAX (64U << 20)
bool v8_heap_read(const struct v8_heap *heap, uint64_t at, uint64_t n, struct v8_bytes *to);

/* Reads the bytes of a byte array, at most max. */
bool v8_heap_array(const struct v8_heap *heap, uint64_t array, uint32_t max, struct v8_bytes *to);

/* Reads at most max characters of a string of any kind. False: not a string; nothing to free. */
bool v8_heap_string(const struct v8_heap *heap, uint64_t string, uint32_t max, struct v8_bytes *to);

#endif
