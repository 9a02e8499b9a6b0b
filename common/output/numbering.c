// SPDX-License-Identifier: GPL-2.0-only
/* Numbers for texts and records; see numbering.h. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "output/numbering.h"

struct numbered {
	struct hashlink link; /* hashed by bytes */
	uint64_t number;
	size_t n;
	unsigned char bytes[];
};

static struct numbered *find_bytes(const struct hashtable *t, const void *bytes, size_t n,
				   uint64_t hash)
{
	for_each_linked(struct numbered, item, link, t, hash) {
		if (item->n == n && !memcmp(item->bytes, bytes, n))
			return item;
	}
	return NULL;
}

uint64_t numbering_add(struct numbering *numbering, const void *bytes, size_t n)
{
	uint64_t hash = hash_bytes(bytes, n);
	struct numbered *item = find_bytes(&numbering->by_bytes, bytes, n, hash);

	if (item)
		return item->number;
	item = mem_zalloc(1, sizeof(*item) + n + 1);
	item->number = numbering_count(numbering);
	item->n = n;
	memcpy(item->bytes, bytes, n);
	numbering->list =
		mem_grow(numbering->list, item->number, &numbering->cap, sizeof(*numbering->list));
	numbering->list[item->number] = item;
	hashtable_add(&numbering->by_bytes, &item->link, hash);
	return item->number;
}

const void *numbering_bytes(const struct numbering *numbering, uint64_t number)
{
	return numbering->list[number]->bytes;
}

/* The map's values are numbers + 1. */
bool numbering_known(const struct numbering *numbering, const void *at, uint64_t *number)
{
	const void *value = idmap_find(&numbering->by_address, (uintptr_t)at);

	if (value)
		*number = (uintptr_t)value - 1;
	return value;
}

uint64_t numbering_remember(struct numbering *numbering, const void *at, uint64_t number)
{
	idmap_add(&numbering->by_address, (uintptr_t)at, (void *)(uintptr_t)(number + 1));
	return number;
}

void numbering_free(struct numbering *numbering)
{
	hashtable_free(&numbering->by_bytes, hashlink_free);
	idmap_free(&numbering->by_address, NULL);
	free(numbering->list);
	*numbering = (struct numbering){};
}
