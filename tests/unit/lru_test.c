// SPDX-License-Identifier: GPL-2.0-only
/* The list of what was used last. */
#include "base/lru.h"
#include "unit.h"

/* From the oldest on, both ways. */
static void check_order(const struct lru *lru, const struct lru_item *items, const char *order)
{
	const struct lru_item *item = lru->oldest, *before = NULL;
	uint64_t bytes = 0;

	for (; *order; order++, before = item, item = item->newer) {
		CHECK(item == &items[*order - 'a']);
		CHECK(item->older == before);
		bytes += item->bytes;
	}
	CHECK(!item && lru->newest == before);
	CHECK_EQ(lru->bytes, bytes);
}

TEST(the_latest_used_is_the_newest)
{
	struct lru_item items[3] = {};
	struct lru lru = {};

	check_order(&lru, items, "");
	lru_use(&lru, &items[0], 10);
	check_order(&lru, items, "a");
	lru_use(&lru, &items[1], 20);
	lru_use(&lru, &items[2], 30);
	check_order(&lru, items, "abc");
	lru_use(&lru, &items[1], 21);
	check_order(&lru, items, "acb");
	lru_use(&lru, &items[0], 10);
	check_order(&lru, items, "cba");
	CHECK_EQ(lru.bytes, 61);
}

TEST(what_takes_nothing_is_left_out)
{
	struct lru_item items[3] = {};
	struct lru lru = {};

	for (int i = 0; i < 3; i++)
		lru_use(&lru, &items[i], 7);
	lru_use(&lru, &items[1], 0);
	check_order(&lru, items, "ac");
	lru_use(&lru, &items[1], 0);
	lru_use(&lru, &items[0], 0);
	check_order(&lru, items, "c");
	lru_use(&lru, &items[2], 0);
	check_order(&lru, items, "");
	lru_use(&lru, &items[1], 5);
	check_order(&lru, items, "b");
}
