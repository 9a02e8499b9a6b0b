/* SPDX-License-Identifier: GPL-2.0-only */
/* Compares numbers, and sorts arrays. */
#ifndef ORDER_H
#define ORDER_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* Compares two numbers; the result is as qsort() and bsearch() expect. */
static inline int order_u64(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* Calls qsort(), but not for an empty array, which may be NULL. */
static inline void order_items(void *items, size_t n, size_t size,
			       int (*compare)(const void *, const void *))
{
	if (n)
		qsort(items, n, size, compare);
}

/* Sorts an array of n items. */
#define SORT(items, n, compare) order_items((items), (n), sizeof(*(items)), (compare))

#endif
