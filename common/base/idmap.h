/* SPDX-License-Identifier: GPL-2.0-only */
/* A hash table from 64-bit ids, which are never 0, to pointers. */
#ifndef IDMAP_H
#define IDMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct idmap {
	uint64_t *ids;
	void **values;
	size_t count, size;
};

/* Returns the value of an id, or NULL. */
void *idmap_find(const struct idmap *map, uint64_t id);

/* Adds an id that isn't in the map yet. The value stays the caller's. */
void idmap_add(struct idmap *map, uint64_t id, void *value);

/* Removes the values that is_kept() denies, after it has freed them. */
void idmap_keep(struct idmap *map, bool (*is_kept)(void *value, void *arg), void *arg);

/* Calls visit for each value, in no order. */
void idmap_visit(const struct idmap *map, void (*visit)(void *value, void *arg), void *arg);

/* Frees the table, after calling free_value (unless NULL) for each value. */
void idmap_free(struct idmap *map, void (*free_value)(void *value));

#endif
