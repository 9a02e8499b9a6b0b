// SPDX-License-Identifier: GPL-2.0-only
/* A free list of extents; see extents.h. */
#include <stdlib.h>
#include <string.h>

#include "base/extents.h"
#include "base/mem.h"
#include "base/search.h"

static uint64_t end_of(const struct extent *extent)
{
	return extent->first + extent->count;
}

static void insert_at(struct extents *extents, size_t at, struct extent extent)
{
	extents->items = mem_grow(extents->items, extents->n, &extents->cap, sizeof(extent));
	memmove(extents->items + at + 1, extents->items + at, (extents->n - at) * sizeof(extent));
	extents->items[at] = extent;
	extents->n++;
}

static void remove_at(struct extents *extents, size_t at)
{
	extents->n--;
	memmove(extents->items + at, extents->items + at + 1,
		(extents->n - at) * sizeof(*extents->items));
}

/* Merges the extent at an index with the next one if they touch. */
static void join(struct extents *extents, size_t at)
{
	struct extent *one = &extents->items[at];

	if (at + 1 >= extents->n || end_of(one) != one[1].first ||
	    (extents->border && one[1].first % extents->border == 0))
		return;
	one->count += one[1].count;
	remove_at(extents, at + 1);
}

void extents_add(struct extents *extents, uint64_t first, uint64_t count)
{
	size_t at = SEARCH_RANK(extents->items, extents->n, first, first);

	if (!count)
		return;
	insert_at(extents, at, (struct extent){ first, count });
	join(extents, at);
	if (at)
		join(extents, at - 1);
}

bool extents_take(struct extents *extents, uint64_t count, uint64_t *first)
{
	struct extent *one = extents->items;
	size_t at = 0;

	while (at < extents->n && one[at].count < count)
		at++;
	if (at == extents->n)
		return false;
	*first = one[at].first;
	one[at].first += count;
	one[at].count -= count;
	if (!one[at].count)
		remove_at(extents, at);
	return true;
}

bool extents_take_spare(struct extents *extents, uint64_t count, uint64_t *first)
{
	struct extent *one = extents->items;
	bool is_spare = false;

	for (size_t at = 0; at < extents->n; at++) {
		if (one[at].count == count && is_spare) {
			*first = one[at].first;
			remove_at(extents, at);
			return true;
		}
		is_spare |= one[at].count == count;
	}
	return false;
}

void extents_clear(struct extents *extents)
{
	free(extents->items);
	*extents = (struct extents){ .border = extents->border };
}
