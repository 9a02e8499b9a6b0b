/* SPDX-License-Identifier: GPL-2.0-only */
/* Unwind tables of real processes in memory of the test's own, in the place of BPF maps. */
#ifndef UNWIND_OWN_H
#define UNWIND_OWN_H

#include "base/mem.h"
#include "unwind/unwind_procs.h"

#define OWN_MAPPINGS 65536

struct own_tables {
	struct unwind_tables *tables;
	struct processes *processes;
	struct unwind_procs *procs;
	struct unwind_rule *rules;
	struct unwind_page *pages;
	struct unwind_pattern *patterns;
	struct unwind_mapping *mappings;
	struct unwind_shard *shards[UNWIND_MAX_SHARDS];
};

static inline struct unwind_shard *own_shard(uint32_t n, void *arg)
{
	struct own_tables *own = arg;

	own->shards[n] = mem_zalloc(1, sizeof(*own->shards[n]));
	return own->shards[n];
}

static inline void own_drop_shard(uint32_t n, struct unwind_shard *shard, void *arg)
{
	struct own_tables *own = arg;

	free(shard);
	own->shards[n] = NULL;
}

/* With room for so many mappings, OWN_MAPPINGS at most. */
static inline struct own_tables *own_tables_of(uint32_t max_mappings)
{
	struct own_tables *own = mem_zalloc(1, sizeof(*own));
	struct unwind_backing backing = { .max_pages = UNWIND_MAX_PAGES,
					  .new_shard = own_shard,
					  .drop_shard = own_drop_shard,
					  .arg = own };

	backing.rules = own->rules = mem_zalloc(UNWIND_MAX_RULES, sizeof(*own->rules));
	backing.pages = own->pages = mem_zalloc(UNWIND_MAX_PAGES, sizeof(*own->pages));
	backing.patterns = own->patterns = mem_zalloc(UNWIND_MAX_PATTERNS, sizeof(*own->patterns));
	own->mappings = mem_zalloc(OWN_MAPPINGS, sizeof(*own->mappings));
	own->tables = unwind_tables_new(&backing);
	own->processes = processes_new(&(struct processes_options){ .max_mappings = 1 << 16 });
	own->procs = unwind_procs_new(own->processes, own->tables, own->mappings, max_mappings);
	return own;
}

static inline struct own_tables *own_tables_new(void)
{
	return own_tables_of(OWN_MAPPINGS);
}

static inline void own_tables_free(struct own_tables *own)
{
	unwind_procs_free(own->procs);
	processes_free(own->processes);
	unwind_tables_free(own->tables);
	for (size_t i = 0; i < UNWIND_MAX_SHARDS; i++)
		free(own->shards[i]);
	free(own->rules);
	free(own->pages);
	free(own->patterns);
	free(own->mappings);
	free(own);
}

#endif
