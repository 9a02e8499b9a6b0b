/* SPDX-License-Identifier: GPL-2.0-only */
/* Sorts symbols by address, in linear time: symbol tables have 10^5 entries in no order. */
#ifndef ADDRSORT_H
#define ADDRSORT_H

#include <stddef.h>
#include <stdint.h>

struct addr_item {
	uint64_t addr;
	uint64_t value;
};

/* Sorts items by ascending addr; items with equal addresses stay in their order. */
void addrsort(struct addr_item *items, size_t n);

/* Returns how many of the sorted items have an address of at most addr. */
size_t addrsort_rank(const struct addr_item *items, size_t n, uint64_t addr);

#endif
