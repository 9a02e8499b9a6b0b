/* SPDX-License-Identifier: GPL-2.0-only */
/* Things that take memory, in the order in which they were used, so that the sum can be bounded. */
#ifndef LRU_H
#define LRU_H

#include <stdint.h>

/* A part of the thing; all zero: in no list. */
struct lru_item {
	struct lru_item *older, *newer;
	uint64_t bytes;
};

struct lru {
	struct lru_item *oldest, *newest;
	uint64_t bytes; /* of all items */
};

/* The item was used, and takes that much by now; 0: it is in the list no more. */
void lru_use(struct lru *lru, struct lru_item *item, uint64_t bytes);

#endif
