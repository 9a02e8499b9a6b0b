/* SPDX-License-Identifier: GPL-2.0-only */
/* Objects in the order of their last use, with their memory, to bound its total. */
#ifndef LRU_H
#define LRU_H

#include <stdint.h>

/* A member of the object; all zero: in no list. */
struct lru_item {
	struct lru_item *older, *newer;
	uint64_t bytes;
};

struct lru {
	struct lru_item *oldest, *newest;
	uint64_t bytes; /* of all items */
};

/* Notes that the object was used and now takes that many bytes; 0: removes it from the list. */
void lru_use(struct lru *lru, struct lru_item *item, uint64_t bytes);

#endif
