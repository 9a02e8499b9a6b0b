/* SPDX-License-Identifier: GPL-2.0-only */
/* A free list: the free extents of an array, in ascending order; adjacent ones are merged. */
#ifndef EXTENTS_H
#define EXTENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct extent {
	uint64_t first, count;
};

struct extents {
	uint64_t border; /* extents are not merged across multiples of this index; 0: all are */
	struct extent *items;
	size_t n, cap;
};

/* Frees an extent, which must not overlap a free one; count may be 0. */
void extents_add(struct extents *extents, uint64_t first, uint64_t count);

/*
 * Allocates count elements from the first extent that is large enough, so that used elements stay
 * near the array's beginning. False: no extent is large enough.
 */
bool extents_take(struct extents *extents, uint64_t count, uint64_t *first);

/* Allocates an extent of exactly count elements if at least two free ones have that size. */
bool extents_take_spare(struct extents *extents, uint64_t count, uint64_t *first);

/* Empties the list and frees its memory. */
void extents_clear(struct extents *extents);

#endif
