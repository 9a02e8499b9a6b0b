// SPDX-License-Identifier: GPL-2.0-only
/* The table of dsos; see dso_cache.h. */
#include <stdlib.h>

#include "base/container.h"
#include "base/hash.h"
#include "base/mem.h"
#include "process/roots.h"
#include "symbols/dso_cache.h"
#include "symbols/elfsyms.h"
#include "symbols/jitmap.h"
#include "symbols/srclines.h"

struct dso_cache *dso_cache_new(const struct dso_options *options)
{
	struct dso_cache *cache = mem_zalloc(1, sizeof(*cache));

	cache->options = *options;
	if (!options->max_bytes)
		cache->options.max_bytes = UINT64_MAX;
	cache->ahead.max_bytes = cache->options.max_bytes;
	cache->roots = roots_new();
	known_names_init(&cache->names);
	return cache;
}

void dso_free(struct dso *dso)
{
	if (dso->file)
		dso->file->parts[FILE_SYMBOLS] = (struct file_part){};
	srclines_free(dso->lines);
	elfsyms_free(dso->syms);
	elfsyms_free(dso->ahead.syms);
	jitmap_free(dso->jit);
	known_names_free_offsets(&dso->known);
	debug_place_free(&dso->debug);
	free(dso->name);
	free(dso);
}

static void free_link(struct hashlink *link, void *arg)
{
	(void)arg;
	dso_free(container_of(link, struct dso, link));
}

void dso_cache_free(struct dso_cache *cache)
{
	if (!cache)
		return;
	hashtable_free(&cache->dsos, free_link, NULL);
	known_names_free(&cache->names);
	roots_free(cache->roots);
	free(cache);
}

struct dso *dso_new(struct dso_cache *cache, enum dso_kind kind, uint64_t hash)
{
	struct dso *dso = mem_zalloc(1, sizeof(*dso));

	dso->cache = cache;
	dso->kind = kind;
	hashtable_add(&cache->dsos, &dso->link, hash);
	return dso;
}

bool dso_has_left(const struct dso *dso)
{
	return dso->kind == DSO_FILE && !dso->file;
}

uint64_t dso_hash_file(const struct file *file)
{
	return hash_add(0, (uintptr_t)file);
}

uint64_t dso_hash_version(const struct stat *version)
{
	return hash_add(hash_add(0, version->st_dev), version->st_ino);
}

void dso_free_tables(struct dso *dso)
{
	srclines_free(dso->lines);
	elfsyms_free(dso->syms);
	dso->lines = NULL;
	dso->syms = NULL;
	if (dso->jit)
		jitmap_drop(dso->jit);
	lru_use(&dso->cache->tables, &dso->tables, 0);
}

void dso_drop_tables(struct dso *dso)
{
	dso_free_tables(dso);
	dso->was_dropped = true;
	dso->cache->n_dropped++;
}

size_t dso_cache_count(const struct dso_cache *cache)
{
	return cache->dsos.count - cache->n_left;
}
