/* SPDX-License-Identifier: GPL-2.0-only */
/* Binary search by a 64-bit key that lies somewhere in each element of a sorted array. */
#ifndef SEARCH_H
#define SEARCH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * Returns the number of elements, out of n in ascending order of their keys, whose key is at most
 * `key`. Elements have stride bytes; their keys have width bytes (uint64_t, uint32_t or a pointer)
 * at that offset.
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

/* The same for an array of structs with that member. */
#define SEARCH_RANK(items, n, member, key)                                              \
	search_rank(items, n, sizeof(*(items)), offsetof(__typeof__(*(items)), member), \
		    sizeof((items)->member), key)

#endif
