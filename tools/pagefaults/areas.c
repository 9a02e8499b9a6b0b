// SPDX-License-Identifier: GPL-2.0-only
/*
 * Names of areas; see areas.h. Looked up by a hash of the id; if the stored id differs, the name is
 * unknown: names are correct or omitted.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "pagefaults/areas.h"

struct area {
	struct area_id id;
	char *name;
	uint32_t last_used; /* number of the last report that used or defined the area */
};

static void free_area(void *value)
{
	struct area *area = value;

	free(area->name);
	free(area);
}

void areas_clear(struct areas *areas)
{
	idmap_free(&areas->by_hash, free_area);
	*areas = (struct areas){};
}

static uint64_t hash_id(const struct area_id *id)
{
	uint64_t hash = hash_add(hash_add(0, id->ino), (uint64_t)id->dev << 32 | id->generation);

	return hash_add(hash, id->kind) | 1;
}

static bool is_sound(const struct area_def *def, size_t size)
{
	return size >= offsetof(struct area_def, text) && def->n_bytes <= sizeof(def->text) &&
	       def->n_bytes <= size - offsetof(struct area_def, text) &&
	       (!def->n_bytes || !def->text[def->n_bytes - 1]);
}

/* Returns the last null-terminated name in text[0..end); end > 0. */
static const char *last_name(const char *text, size_t end)
{
	size_t start = end - 1;

	while (start && text[start - 1])
		start--;
	return text + start;
}

static char *join_path(const struct area_def *def)
{
	char *path = mem_zalloc(1, def->n_bytes + sizeof("... (deleted)"));
	size_t end = def->n_bytes, used = 0;
	const char *name;

	if (def->is_cut)
		used += (size_t)sprintf(path, "...");
	while (end) {
		name = last_name(def->text, end);
		end = (size_t)(name - def->text);
		used += (size_t)sprintf(path + used, "/%s", name);
	}
	if (def->is_deleted)
		sprintf(path + used, " (deleted)");
	return path;
}

void areas_define(struct areas *areas, const struct area_def *def, size_t size)
{
	struct area *area;
	uint64_t hash;

	if (!is_sound(def, size))
		return;
	hash = hash_id(&def->id);
	area = idmap_find(&areas->by_hash, hash);
	if (!area) {
		area = mem_zalloc(1, sizeof(*area));
		idmap_add(&areas->by_hash, hash, area);
	}
	free(area->name);
	area->id = def->id;
	area->last_used = areas->n_reports;
	area->name = def->id.kind == AREA_SPECIAL ? mem_strndup(def->text, def->n_bytes)
						  : join_path(def);
}

const char *areas_name(const struct areas *areas, const struct area_id *id)
{
	struct area *area;

	if (!area_has_name(id))
		return "";
	area = idmap_find(&areas->by_hash, hash_id(id));
	if (!area || memcmp(&area->id, id, sizeof(*id)) != 0)
		return NULL;
	area->last_used = areas->n_reports;
	return area->name;
}

static bool is_kept(void *value, void *arg)
{
	const struct areas *areas = arg;
	struct area *area = value;

	if (area->last_used + 1 >= areas->n_reports)
		return true;
	free_area(area);
	return false;
}

void areas_end_report(struct areas *areas)
{
	areas->n_reports++;
	idmap_keep(&areas->by_hash, is_kept, areas);
}

const char *area_kind_name(uint32_t kind)
{
	static const char *const names[AREA_KINDS] = {
		[AREA_UNKNOWN] = "unknown", [AREA_ANON] = "anon",	[AREA_HEAP] = "heap",
		[AREA_STACK] = "stack",	    [AREA_SPECIAL] = "special", [AREA_FILE] = "file",
		[AREA_SHMEM] = "shmem",	    [AREA_HUGE] = "huge",
	};

	return kind < AREA_KINDS ? names[kind] : names[AREA_UNKNOWN];
}
