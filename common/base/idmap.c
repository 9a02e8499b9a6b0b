// SPDX-License-Identifier: GPL-2.0-only
/* A hash table with open addressing, at most half full; see idmap.h. */
#include <stdlib.h>
#include <string.h>

#include "base/idmap.h"
#include "base/mem.h"

#define IDMAP_FIRST_SIZE 64 /* a power of two */

static size_t find_slot(const struct idmap *map, uint64_t id)
{
	size_t mask = map->size - 1, slot = (id * 0x9e3779b97f4a7c15ULL >> 20) & mask;

	while (map->ids[slot] && map->ids[slot] != id)
		slot = (slot + 1) & mask;
	return slot;
}

void *idmap_find(const struct idmap *map, uint64_t id)
{
	return map->size ? map->values[find_slot(map, id)] : NULL;
}

static void idmap_grow(struct idmap *map)
{
	struct idmap bigger = { .size = map->size ? map->size * 2 : IDMAP_FIRST_SIZE };

	bigger.ids = mem_zalloc(bigger.size, sizeof(*bigger.ids));
	bigger.values = mem_zalloc(bigger.size, sizeof(*bigger.values));
	for (size_t i = 0; i < map->size; i++)
		if (map->ids[i])
			idmap_add(&bigger, map->ids[i], map->values[i]);
	idmap_free(map, NULL);
	*map = bigger;
}

void idmap_add(struct idmap *map, uint64_t id, void *value)
{
	size_t slot;

	if (map->count * 2 >= map->size)
		idmap_grow(map);
	slot = find_slot(map, id);
	map->ids[slot] = id;
	map->values[slot] = value;
	map->count++;
}

void idmap_keep(struct idmap *map, bool (*is_kept)(void *value, void *arg), void *arg)
{
	struct idmap kept = {};

	for (size_t i = 0; i < map->size; i++)
		if (map->ids[i] && is_kept(map->values[i], arg))
			idmap_add(&kept, map->ids[i], map->values[i]);
	idmap_free(map, NULL);
	*map = kept;
}

void *idmap_next(const struct idmap *map, size_t *at)
{
	while (*at < map->size && !map->ids[*at])
		++*at;
	return *at < map->size ? map->values[(*at)++] : NULL;
}

void idmap_free(struct idmap *map, void (*free_value)(void *value))
{
	for (size_t i = 0; free_value && i < map->size; i++)
		if (map->ids[i])
			free_value(map->values[i]);
	free(map->ids);
	free(map->values);
	memset(map, 0, sizeof(*map));
}
