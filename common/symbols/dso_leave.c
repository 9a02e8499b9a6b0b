// SPDX-License-Identifier: GPL-2.0-only
/* Release of dsos and their files; see dso_leave.h. */
#include <stdlib.h>

#include "base/container.h"
#include "base/mem.h"
#include "process/roots.h"
#include "symbols/dso_cache.h"
#include "symbols/dso_leave.h"
#include "symbols/elfsyms.h"

void dso_mark(struct dso *dso)
{
	dso->is_marked = true;
}

struct releasing {
	struct dso_cache *cache;
	bool at_once;
};

static void forget_offsets(struct hashlink *link, void *arg)
{
	(void)arg;
	known_names_free_offsets(&container_of(link, struct dso, link)->known);
}

static void forget_many_names(struct dso_cache *cache)
{
	if (!known_names_are_many(&cache->names))
		return;
	hashtable_visit(&cache->dsos, forget_offsets, NULL);
	known_names_forget(&cache->names);
}

static void release(struct hashlink *link, void *arg)
{
	struct dso *dso = container_of(link, struct dso, link);
	const struct releasing *releasing = arg;
	struct dso_cache *cache = releasing->cache;
	bool is_needed = dso->is_marked || (dso->file && dso->file->n_users);
	bool may_go = !is_needed && (releasing->at_once || dso->was_idle);

	dso->is_marked = false;
	dso->was_idle = !is_needed;
	if (!may_go) {
		roots_keep(cache->roots, dso->debug.root_fd);
		return;
	}
	syms_ahead_drop(&dso->ahead, cache->options.background);
	lru_use(&cache->tables, &dso->tables, 0);
	cache->n_left -= dso_has_left(dso);
	hashtable_remove(&cache->dsos, link);
	dso_free(dso);
}

void dso_cache_release(struct dso_cache *cache, bool at_once)
{
	struct releasing releasing = { cache, at_once };

	hashtable_visit(&cache->dsos, release, &releasing);
	roots_release(cache->roots);
	forget_many_names(cache);
}

/* ---- files that nobody maps ---- */

/* One that is not open has nothing to be closed. */
static bool is_unmapped(const struct dso *dso)
{
	return dso->file && dso->file->fd >= 0 && !dso->file->n_users;
}

static void find_leaving(struct hashlink *link, void *arg)
{
	struct dso *dso = container_of(link, struct dso, link);
	const struct releasing *releasing = arg;
	struct dso_cache *cache = releasing->cache;
	bool was_unmapped = dso->was_unmapped || releasing->at_once;

	dso->was_unmapped = is_unmapped(dso);
	if (!dso->was_unmapped || !was_unmapped) {
		roots_keep(cache->roots, dso->debug.root_fd);
		return;
	}
	dso->is_leaving = true;
	dso->next_leaving = cache->leaving;
	cache->leaving = dso;
}

void dso_cache_find_leaving(struct dso_cache *cache, bool at_once)
{
	struct releasing releasing = { cache, at_once };

	hashtable_visit(&cache->dsos, find_leaving, &releasing);
}

bool dso_is_leaving(const struct dso *dso)
{
	return dso->is_leaving;
}

static void leave_file(struct dso_cache *cache, struct dso *dso)
{
	syms_ahead_drop(&dso->ahead, cache->options.background);
	dso->was_dropped |= dso->syms != NULL; /* so that they are not read ahead again */
	dso_free_tables(dso);
	dso->debug.root_fd = -1;
	dso->is_leaving = false;
	dso->place.name = dso->name = mem_strdup(dso->file->name);
	dso->version = dso->file->st;
	dso->file->parts[FILE_SYMBOLS] = (struct file_part){};
	dso->file = NULL;
	hashtable_remove(&cache->dsos, &dso->link);
	hashtable_add(&cache->dsos, &dso->link, dso_hash_version(&dso->version));
	cache->n_left++;
}

void dso_cache_leave(struct dso_cache *cache)
{
	for (struct dso *dso; (dso = cache->leaving);) {
		cache->leaving = dso->next_leaving;
		leave_file(cache, dso);
	}
	roots_release(cache->roots);
	forget_many_names(cache);
}
