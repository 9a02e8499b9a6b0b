// SPDX-License-Identifier: GPL-2.0-only
/*
 * Strings kept once each, in a hash table with linear probing that is never more than half full.
 * Stacks repeat the same few thousand names millions of times: after interning, names are compared
 * and hashed by their addresses.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/strpool.h"

struct slot {
	char *string; /* NULL: free */
	uint64_t hash;
};

#define OVERHEAD (2 * sizeof(struct slot) + 16) /* of a string: its slots, and malloc()'s part */

struct strpool {
	struct slot *slots;
	size_t n_slots; /* a power of two */
	size_t count, bytes;
};

struct strpool *strpool_new(void)
{
	struct strpool *pool = mem_zalloc(1, sizeof(*pool));

	pool->n_slots = 1024;
	pool->slots = mem_zalloc(pool->n_slots, sizeof(*pool->slots));
	return pool;
}

void strpool_free(struct strpool *pool)
{
	if (!pool)
		return;
	for (size_t i = 0; i < pool->n_slots; i++)
		free(pool->slots[i].string);
	free(pool->slots);
	free(pool);
}

/* The slot that holds s, or the free one where it belongs. */
static struct slot *find_slot(const struct strpool *pool, const char *s, uint64_t hash)
{
	size_t i = hash & (pool->n_slots - 1);

	while (pool->slots[i].string &&
	       (pool->slots[i].hash != hash || strcmp(pool->slots[i].string, s)))
		i = (i + 1) & (pool->n_slots - 1);
	return &pool->slots[i];
}

static void double_slots(struct strpool *pool)
{
	struct slot *old = pool->slots;
	size_t n_old = pool->n_slots;

	pool->n_slots *= 2;
	pool->slots = mem_zalloc(pool->n_slots, sizeof(*pool->slots));
	for (size_t i = 0; i < n_old; i++)
		if (old[i].string)
			*find_slot(pool, old[i].string, old[i].hash) = old[i];
	free(old);
}

const char *strpool_intern(struct strpool *pool, const char *s)
{
	uint64_t hash = hash_text(s);
	struct slot *slot = find_slot(pool, s, hash);

	if (slot->string)
		return slot->string;
	if (++pool->count * 2 > pool->n_slots) {
		double_slots(pool);
		slot = find_slot(pool, s, hash);
	}
	slot->string = mem_strdup(s);
	slot->hash = hash;
	pool->bytes += strlen(s) + 1 + OVERHEAD;
	return slot->string;
}

size_t strpool_count(const struct strpool *pool)
{
	return pool->count;
}

size_t strpool_bytes(const struct strpool *pool)
{
	return pool->bytes;
}
