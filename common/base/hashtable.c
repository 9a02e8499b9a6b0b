// SPDX-License-Identifier: GPL-2.0-only
/* A chained hash table; see hashtable.h. */
#include <stdlib.h>

#include "base/hashtable.h"
#include "base/mem.h"

#define FIRST_BUCKETS 64

static struct hashlink **bucket_of(const struct hashtable *table, uint64_t hash)
{
	return &table->buckets[hash & (table->n_buckets - 1)];
}

static struct hashlink *skip_others(struct hashlink *link, uint64_t hash)
{
	while (link && link->hash != hash)
		link = link->next;
	return link;
}

struct hashlink *hashtable_first(const struct hashtable *table, uint64_t hash)
{
	return table->count ? skip_others(*bucket_of(table, hash), hash) : NULL;
}

struct hashlink *hashtable_next(const struct hashlink *link)
{
	return skip_others(link->next, link->hash);
}

struct hashlink *hashtable_after(const struct hashtable *table, const struct hashlink *link)
{
	size_t i = 0;

	if (link && link->next)
		return link->next;
	if (link)
		i = (link->hash & (table->n_buckets - 1)) + 1;
	while (i < table->n_buckets && !table->buckets[i])
		i++;
	return i < table->n_buckets ? table->buckets[i] : NULL;
}

static void push(struct hashtable *table, struct hashlink *link)
{
	struct hashlink **bucket = bucket_of(table, link->hash);

	link->next = *bucket;
	*bucket = link;
}

static void double_buckets(struct hashtable *table)
{
	struct hashtable bigger = *table;

	bigger.n_buckets = table->n_buckets ? 2 * table->n_buckets : FIRST_BUCKETS;
	bigger.buckets = mem_zalloc(bigger.n_buckets, sizeof(struct hashlink *));
	for (struct hashlink *link = hashtable_after(table, NULL), *next; link; link = next) {
		next = hashtable_after(table, link);
		push(&bigger, link);
	}
	free(table->buckets);
	*table = bigger;
}

void hashtable_add(struct hashtable *table, struct hashlink *link, uint64_t hash)
{
	if (table->count == table->n_buckets)
		double_buckets(table);
	link->hash = hash;
	push(table, link);
	table->count++;
}

void hashtable_remove(struct hashtable *table, struct hashlink *link)
{
	struct hashlink **at = bucket_of(table, link->hash);

	while (*at != link)
		at = &(*at)->next;
	*at = link->next;
	table->count--;
}

void hashtable_free(struct hashtable *table, void (*free_link)(struct hashlink *link))
{
	for (struct hashlink *link = hashtable_after(table, NULL), *next; free_link && link;
	     link = next) {
		next = hashtable_after(table, link);
		free_link(link);
	}
	free(table->buckets);
	*table = (struct hashtable){};
}

void hashlink_free(struct hashlink *link)
{
	free(link);
}
