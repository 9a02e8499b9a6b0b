// SPDX-License-Identifier: GPL-2.0-only
/* A doubly linked list; see lru.h. */
#include <stddef.h>

#include "base/lru.h"

static void take_out(struct lru *lru, struct lru_item *item)
{
	if (!item->bytes)
		return;
	*(item->older ? &item->older->newer : &lru->oldest) = item->newer;
	*(item->newer ? &item->newer->older : &lru->newest) = item->older;
	lru->bytes -= item->bytes;
	*item = (struct lru_item){ NULL, NULL, 0 };
}

void lru_use(struct lru *lru, struct lru_item *item, uint64_t bytes)
{
	take_out(lru, item);
	if (!bytes)
		return;
	*item = (struct lru_item){ .older = lru->newest, .bytes = bytes };
	*(lru->newest ? &lru->newest->newer : &lru->oldest) = item;
	lru->newest = item;
	lru->bytes += bytes;
}
