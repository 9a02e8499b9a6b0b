/* SPDX-License-Identifier: GPL-2.0-only */
/* A hash table from non-zero 64-bit ids to pointers. */
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

/* Adds an id that isn't in the map yet. The caller still owns the value. */
void idmap_add(struct idmap *map, uint64_t id, void *value);

/* Removes the values for which is_kept() returns false; is_kept() has freed them. */
void idmap_keep(struct idmap *map, bool (*is_kept)(void *value, void *arg), void *arg);

/* Returns the next value, in no order; NULL: no more. *at begins as 0. */
void *idmap_next(const struct idmap *map, size_t *at);

/* Calls free_value (unless NULL) for each value, and frees the table. */
void idmap_free(struct idmap *map, void (*free_value)(void *value));

#endif
