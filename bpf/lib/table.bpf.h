/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Hash tables that the loader can drain while BPF fills them. Two tables alternate; the loader
 * creates the second one when it is first needed. An array of maps with one element (NAMEs) refers
 * to the table in use; its update returns when no program still uses the old table, which is then
 * complete. See run/bpfmap.h.
 *
 * An empty element means the first table: setting it would cost a grace period of milliseconds at
 * the start. The inner map in the declaration is only a template for libbpf; its size is
 * irrelevant.
 */
#ifndef TABLE_BPF_H
#define TABLE_BPF_H

#include "lib/maps.bpf.h"

#define TABLE_WITH_TURNS(name, key_type, value_type, entries)                           \
	MAP_HASH(name, key_type, value_type, entries);                                  \
	struct {                                                                        \
		__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);                               \
		__uint(max_entries, 1);                                                 \
		__type(key, __u32);                                                     \
		__array(                                                                \
			values, struct { MAP_FIELDS(HASH, key_type, value_type, 1); }); \
	} name##s SEC(".maps")

static __always_inline void *table_in_use(bool has_turns, void *slots, void *first)
{
	__u32 zero = 0;
	void *table = has_turns ? bpf_map_lookup_elem(slots, &zero) : NULL;

	return table ? table : first;
}

#define TABLE_IN_USE(name, has_turns) table_in_use(has_turns, &name##s, &name)

#endif
