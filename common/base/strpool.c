// SPDX-License-Identifier: GPL-2.0-only
/*
 * Interns strings; see strpool.h. Stacks repeat the same few thousand names millions of times:
 * interned names are compared and hashed by their addresses.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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
	hashtable_free(&pool->table, hashlink_free);
	free(pool);
}

const char *strpool_intern(struct strpool *pool, const char *s)
{
	uint64_t hash = hash_text(s);
	struct string *string;
	size_t bytes;

	for_each_linked(struct string, known, link, &pool->table, hash)
		if (!strcmp(known->text, s))
			return known->text;
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
