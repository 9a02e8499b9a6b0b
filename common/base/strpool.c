// SPDX-License-Identifier: GPL-2.0-only
/*
 * Interns strings; see strpool.h. Stacks repeat the same few thousand names millions of times:
 * interned names are compared and hashed by their addresses.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/container.h"
#include "base/hash.h"
#include "base/hashtable.h"
#include "base/mem.h"
#include "base/strpool.h"

struct string {
	struct hashlink link;
	char text[];
};

/* Bytes of memory per string besides its text: header, table slots and malloc()'s overhead. */
#define OVERHEAD (sizeof(struct string) + 2 * sizeof(struct hashlink *) + 16)

struct strpool {
	struct hashtable table;
	size_t bytes;
};

struct strpool *strpool_new(void)
{
	return mem_zalloc(1, sizeof(struct strpool));
}

void strpool_free(struct strpool *pool)
{
	if (!pool)
		return;
	hashtable_free(&pool->table, hashlink_free, NULL);
	free(pool);
}

const char *strpool_intern(struct strpool *pool, const char *s)
{
	uint64_t hash = hash_text(s);
	struct hashlink *link = hashtable_first(&pool->table, hash);
	struct string *string;
	size_t bytes;

	for (; link; link = hashtable_next(link))
		if (!strcmp(container_of(link, struct string, link)->text, s))
			return container_of(link, struct string, link)->text;
	bytes = strlen(s) + 1;
	string = mem_zalloc(1, sizeof(*string) + bytes);
	memcpy(string->text, s, bytes);
	hashtable_add(&pool->table, &string->link, hash);
	pool->bytes += bytes + OVERHEAD;
	return string->text;
}

size_t strpool_count(const struct strpool *pool)
{
	return pool->table.count;
}

size_t strpool_bytes(const struct strpool *pool)
{
	return pool->bytes;
}
