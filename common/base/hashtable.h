/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A chained hash table whose links are members of the elements (see container_of()). The table
 * compares hashes only; the caller compares the keys of elements with equal hashes. An empty table
 * has no memory; it grows by doubling. For 64-bit ids as keys, idmap.h is simpler.
 */
#ifndef HASHTABLE_H
#define HASHTABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hashlink {
	struct hashlink *next;
	uint64_t hash;
};

/* All zero: an empty table. */
struct hashtable {
	struct hashlink **buckets;
	size_t n_buckets; /* a power of two, or 0 */
	size_t count;
};

/* Return the first or next link with a hash, in no particular order; NULL: no more. */
struct hashlink *hashtable_first(const struct hashtable *table, uint64_t hash);
struct hashlink *hashtable_next(const struct hashlink *link);

/* Returns the link after another in the whole table, the first one after NULL; NULL: no more. */
struct hashlink *hashtable_after(const struct hashtable *table, const struct hashlink *link);

static inline void *hashlink_element(struct hashlink *link, size_t offset)
{
	return link ? (char *)link - offset : NULL;
}

/* The element that a link is a member of, as in container_of(); NULL: no link. */
#define HASHLINK_ELEMENT(link, type, member) \
	((type *)hashlink_element(link, offsetof(type, member)))

/* The first element with a hash; NULL: none. */
#define HASHTABLE_FIRST(type, member, table, hash) \
	HASHLINK_ELEMENT(hashtable_first(table, hash), type, member)

/* Loops over the elements with a hash, in no particular order. */
#define for_each_linked(type, element, member, table, hash)                       \
	for (type *element = HASHTABLE_FIRST(type, member, table, hash); element; \
	     element = HASHLINK_ELEMENT(hashtable_next(&element->member), type, member))

#define HASHTABLE_AFTER(type, member, table, link) \
	HASHLINK_ELEMENT(hashtable_after(table, link), type, member)

/* Loops over all elements. The loop may remove an element (and free it then), no other. */
#define for_each_element(type, element, next, member, table)                                   \
	for (type *element = HASHTABLE_AFTER(type, member, table, NULL), *next;                \
	     element && (next = HASHTABLE_AFTER(type, member, table, &element->member), true); \
	     element = next)

/* Adds a link; the caller still owns its element. The hash must be well mixed: see hash.h. */
void hashtable_add(struct hashtable *table, struct hashlink *link, uint64_t hash);

/* Removes a link, which must be in the table. */
void hashtable_remove(struct hashtable *table, struct hashlink *link);

/* Calls free_link (unless NULL) for each link, empties the table and frees its memory. */
void hashtable_free(struct hashtable *table, void (*free_link)(struct hashlink *link));

/* free_link for elements that are one block of memory with the link as first member. */
void hashlink_free(struct hashlink *link);

#endif
