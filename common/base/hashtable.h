/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A chained hash table whose links are members of the elements (container_of() leads back). The
 * table knows hashes only: the caller compares the keys of elements with equal hashes. It starts
 * without memory and grows by doubling. For elements with a 64-bit id as key, idmap.h is simpler.
 */
#ifndef HASHTABLE_H
#define HASHTABLE_H

#include <stddef.h>
#include <stdint.h>

struct hashlink {
	struct hashlink *next;
	uint64_t hash;
};

/* All zero: empty. */
struct hashtable {
	struct hashlink **buckets;
	size_t n_buckets; /* a power of two, or 0 */
	size_t count;
};

/* Returns the first link with that hash, and the next with the same; NULL: none. Latest first. */
struct hashlink *hashtable_first(const struct hashtable *table, uint64_t hash);
struct hashlink *hashtable_next(const struct hashlink *link);

/* The element stays the caller's. The hash must be well mixed: see hash.h. */
void hashtable_add(struct hashtable *table, struct hashlink *link, uint64_t hash);

/* The link must be in the table. */
void hashtable_remove(struct hashtable *table, struct hashlink *link);

/*
 * Calls visit for each link, in no order; visit may remove, or free after removal, that link only.
 */
void hashtable_visit(struct hashtable *table, void (*visit)(struct hashlink *link, void *arg),
		     void *arg);

/* Empties the table, calling free_link (unless NULL) for each link, and frees its memory. */
void hashtable_free(struct hashtable *table, void (*free_link)(struct hashlink *link, void *arg),
		    void *arg);

/* free_link for elements that are one block of memory, which begins with the link. */
void hashlink_free(struct hashlink *link, void *arg);

#endif
