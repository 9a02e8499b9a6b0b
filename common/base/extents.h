/* SPDX-License-Identifier: GPL-2.0-only */
/* The free parts (extents) of an array, in order; adjacent ones are merged. */
#ifndef EXTENTS_H
#define EXTENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct extent {
	uint64_t first, count;
};

struct extents {
	uint64_t border; /* no extent crosses a multiple of it; 0: there are none */
	struct extent *items;
	size_t n, cap;
};

/* Frees a part, which must not overlap a free one; count may be 0. */
void extents_add(struct extents *extents, uint64_t first, uint64_t count);

/*
 * Allocates count elements from the first extent that is large enough, which keeps used elements
 * near the beginning. False: there is none.
 */
bool extents_take(struct extents *extents, uint64_t count, uint64_t *first);

/* Takes an extent of exactly that size, if another one of that size remains. */
bool extents_take_spare(struct extents *extents, uint64_t count, uint64_t *first);

/* Frees the memory of the list. */
void extents_clear(struct extents *extents);

#endif
