/* SPDX-License-Identifier: GPL-2.0-only */
/* Objects in the order of their last use, with the memory that they take, to bound its sum. */
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

/* The object was used and takes that many bytes now; 0 bytes: it leaves the list. */
void lru_use(struct lru *lru, struct lru_item *item, uint64_t bytes);

#endif
