/* SPDX-License-Identifier: GPL-2.0-only */
/* Binary search in a sorted array, by a key of up to 64 bits within each element. */
#ifndef SEARCH_H
#define SEARCH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * Returns how many of n elements, sorted by ascending key, have a key of at most `key`. Each
 * element has stride bytes; its key has width bytes (uint64_t, uint32_t or a pointer) at offset.
 */
static inline size_t search_rank(const void *items, size_t n, size_t stride, size_t offset,
				 size_t width, uint64_t key)
{
	size_t low = 0, high = n;
	uint64_t value = 0;

	_Static_assert(sizeof(void *) == sizeof(value), "pointers serve as keys");
	_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the rest of a value is 0");
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		memcpy(&value, (const char *)items + middle * stride + offset, width);
		if (value <= key)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Like search_rank(), for an array of structs whose key is `member`. */
#define SEARCH_RANK(items, n, member, key)                                              \
	search_rank(items, n, sizeof(*(items)), offsetof(__typeof__(*(items)), member), \
		    sizeof((items)->member), key)

#endif
