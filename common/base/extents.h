/* SPDX-License-Identifier: GPL-2.0-only */
/* Which parts of an array are free, in order; neighbours become one. */
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

/* Adds a part, which doesn't overlap with any; count may be 0. */
void extents_add(struct extents *extents, uint64_t first, uint64_t count);

/*
 * Takes out a part of that size, of the first that has it: what is taken gathers at the beginning.
 * False: there is none.
 */
bool extents_take(struct extents *extents, uint64_t count, uint64_t *first);

/* Takes out one that is just as large, if there is another such. */
bool extents_take_spare(struct extents *extents, uint64_t count, uint64_t *first);

/* Frees what they take. */
void extents_clear(struct extents *extents);

#endif
