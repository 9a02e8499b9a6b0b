/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tables that the loader compiles from .eh_frame, and the search for an address's rule in them. See
 * abi/unwind_layout.h for their layout in maps.
 */
#ifndef UNWIND_TABLES_BPF_H
#define UNWIND_TABLES_BPF_H

#include "lib/compat.bpf.h"
#include "lib/maps.bpf.h"
#include "stack/unwind_slots.bpf.h"
#include "abi/unwind_layout.h"

const volatile struct unwind_settings unwind_settings SEC(".rodata.unwind") = {
	.address_bits = ~0ULL,
	.by_cfi = true,
};

MAP_SHARED_ARRAY(unwind_mappings, struct unwind_mapping, SET_BY_LOADER);

MAP_SHARED_ARRAY(unwind_pages, struct unwind_page, SET_BY_LOADER);

MAP_SHARED_ARRAY(unwind_rules, struct unwind_rule, UNWIND_MAX_RULES);

MAP_SHARED_ARRAY(unwind_patterns, struct unwind_pattern, UNWIND_MAX_PATTERNS);

MAP_ARRAY(unwind_recent, __u64, UNWIND_RECENT);

struct unwind_shard_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32)); /* declared by size: BTF omits types at this depth */
	__uint(value_size, sizeof(struct unwind_shard));
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, UNWIND_MAX_SHARDS);
	__type(key, __u32);
	__array(values, struct unwind_shard_map);
} unwind_shards SEC(".maps");

/* Returns the last mapping of a slice that begins at or below an address; NULL: none. */
static __always_inline struct unwind_mapping *
unwind_last_mapping(const struct unwind_process *process, __u64 addr)
{
	struct search search = { .rest = process->count };
	struct unwind_mapping *m = NULL;
	__u32 index;

	for (int i = 0; i < UNWIND_SLICE_BITS && search.rest; i++) {
		index = process->first + search_at(&search);
		m = bpf_map_lookup_elem(&unwind_mappings, &index);
		if (!m)
			return NULL;
		search_turn(&search, search_difference(addr, m->start)); /* vsyscall is >= 2^63 */
	}
	if (!search.below)
		return NULL;
	index = process->first + search.below - 1;
	return bpf_map_lookup_elem(&unwind_mappings, &index);
}

static __always_inline bool unwind_mapping_has(const struct unwind_mapping *m, __u64 ip)
{
	return ip >= m->start && ip < m->end;
}

/* Sets the walk's mapping to that of an address. Returns 1, or 0 if there is none. */
__noinline int unwind_find_mapping(__u32 slot, __u64 ip)
{
	struct stack_scratch *scratch = stack_scratch_of(slot);
	struct unwind_mapping *m;
	struct unwind_state *s;

	if (!unwind_settings.by_cfi || !scratch)
		return 0;
	s = &scratch->walk;
	if (unwind_mapping_has(&s->mapping, ip))
		return 1;
	m = unwind_last_mapping(&s->process, ip);
	if (!m || ip >= m->end)
		return 0;
	s->mapping = *m;
	return 1;
}

static __always_inline __u32 unwind_search_pattern(__u32 index, __u32 distance)
{
	struct unwind_pattern *pattern = bpf_map_lookup_elem(&unwind_patterns, &index);

	return pattern ? unwind_pattern_rule(pattern, distance) : UNWIND_RULE_NOT_YET;
}

/* Returns the number of the rule in a page for the low bits of an address. */
__noinline __u32 unwind_search_page(__u32 page_index, __u32 low)
{
	__u32 shard_index, zero = 0, number, distance;
	struct unwind_shard *shard;
	struct unwind_page *page;
	void *shard_map;

	if (!unwind_settings.by_cfi)
		return UNWIND_RULE_NOT_YET;
	page = bpf_map_lookup_elem(&unwind_pages, &page_index);
	if (!page)
		return UNWIND_RULE_NOT_YET;
	shard_index = page->shard;
	shard_map = bpf_map_lookup_elem(&unwind_shards, &shard_index);
	if (!shard_map)
		return UNWIND_RULE_NOT_YET;
	shard = bpf_map_lookup_elem(shard_map, &zero);
	if (!shard)
		return UNWIND_RULE_NOT_YET;
	number = unwind_search(shard, page->first_cell, low, &distance);
	return number < UNWIND_FIRST_PATTERN
		       ? number
		       : unwind_search_pattern(number - UNWIND_FIRST_PATTERN, distance);
}

/* Returns the number of the rule for an address, by the tables. */
static __always_inline __u32 unwind_search_rule(__u32 slot, struct unwind_state *s, __u64 ip)
{
	__u64 at, index;

	if (!unwind_find_mapping(slot, ip)) /* its tables may not be loaded yet */
		return UNWIND_RULE_NOT_YET;
	at = ip - s->mapping.pages_start;
	index = at >> UNWIND_PAGE_SHIFT;
	if (index >= s->mapping.n_pages)
		return UNWIND_RULE_GAP;
	return unwind_search_page(s->mapping.first_page + index, at & 0xffff);
}

/* Returns the rule for an address; NULL: there may be one that isn't loaded yet. */
static __always_inline struct unwind_rule *unwind_find_rule(__u32 slot, struct unwind_state *s,
							    __u64 ip)
{
	__u64 hash = (ip ^ s->salt) * UNWIND_RECENT_HASH, known;
	__u32 place = hash >> (64 - UNWIND_RECENT_BITS), rule;
	__u64 *recent = bpf_map_lookup_elem(&unwind_recent, &place);

	if (!recent)
		return NULL;
	known = *(volatile __u64 *)recent;
	rule = known & (UNWIND_MAX_RULES - 1);
	if ((known ^ hash) >> UNWIND_RULE_BITS) {
		rule = unwind_search_rule(slot, s, ip);
		if (rule != UNWIND_RULE_NOT_YET)
			*(volatile __u64 *)recent = (hash & -(__u64)UNWIND_MAX_RULES) | rule;
	}
	return bpf_map_lookup_elem(&unwind_rules, &rule);
}

#endif
