/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Unwind tables in the layout of bpf/abi/unwind_layout.h, built from cfi tables. The caller
 * provides the memory of the arrays: a BPF map's, or a test's.
 */
#ifndef UNWIND_TABLES_H
#define UNWIND_TABLES_H

#include <stdint.h>

#include "abi/unwind_layout.h"
#include "unwind/cfi_table.h"

struct unwind_tables;

/*
 * Memory of the arrays, borrowed. new_shard() returns the memory of shard n, or NULL if there is no
 * more; drop_shard() releases it when no page refers to it. new_shard() returns n again only when
 * walks can no longer find the former shard n.
 */
struct unwind_backing {
	struct unwind_rule *rules;	 /* UNWIND_MAX_RULES elements */
	struct unwind_page *pages;	 /* max_pages elements */
	struct unwind_pattern *patterns; /* UNWIND_MAX_PATTERNS elements */
	uint32_t max_pages;
	struct unwind_shard *(*new_shard)(uint32_t n, void *arg);
	void (*drop_shard)(uint32_t n, struct unwind_shard *shard, void *arg);
	void *arg;
};

/* A file's tables, as in a struct unwind_mapping. */
struct unwind_run {
	uint64_t page_base;
	uint32_t first_page, n_pages; /* n_pages 0: no tables */
	uint64_t n_rows;
};

struct unwind_tables *unwind_tables_new(const struct unwind_backing *backing);
void unwind_tables_free(struct unwind_tables *t);

/* Adds a file's table. Returns 0, or -ENOSPC if a limit is reached; *run is then empty. */
int unwind_tables_add(struct unwind_tables *t, const struct cfi_table *cfi, struct unwind_run *run);

/*
 * Removes a file that mappings no longer refer to. Its cells and pages are reused only after
 * running walks have ended: once either function is called with a time at least a second later.
 */
void unwind_tables_remove(struct unwind_tables *t, const struct unwind_run *run, uint64_t now_ns);
void unwind_tables_reclaim(struct unwind_tables *t, uint64_t now_ns);

/*
 * Drops all empty shards but one. Removing a file does that, too; adding one doesn't, so that files
 * that replace others can reuse their shards.
 */
void unwind_tables_drop_spare(struct unwind_tables *t);

/* Returns the rule for an address in a mapping, as the BPF walker finds it. NULL: none. */
const struct unwind_rule *unwind_tables_find(const struct unwind_tables *t,
					     const struct unwind_mapping *m, uint64_t addr);

struct unwind_tables_size {
	uint32_t n_rules, n_patterns, n_pages, n_shards;
	uint64_t n_rows;
};

struct unwind_tables_size unwind_tables_size(const struct unwind_tables *t);

#endif
