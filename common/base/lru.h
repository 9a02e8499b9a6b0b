/* SPDX-License-Identifier: GPL-2.0-only */
/* A list of objects by last use, with their memory, to bound the total. */
#ifndef LRU_H
#define LRU_H

#include <stdint.h>

/* A member of the object; all zero: not in a list. */
struct lru_item {
	struct lru_item *older, *newer;
	uint64_t bytes;
};

struct lru {
	struct lru_item *oldest, *newest;
	uint64_t bytes; /* total of all items */
};

/* Makes item the newest, with its memory in bytes; 0: removes it from the list. */
void lru_use(struct lru *lru, struct lru_item *item, uint64_t bytes);

#endif
