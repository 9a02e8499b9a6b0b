/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Records values in one histogram per key (process, thread, disk, CPU, cgroup), with one element of
 * a hash table per octave, or in a single one.
 */
#ifndef HIST_BPF_H
#define HIST_BPF_H

#include "abi/filter.h"
#include "lib/hist_all.bpf.h"
#include "lib/loss.bpf.h"
#include "lib/maps.bpf.h"
#include "lib/table.bpf.h"

struct hist_label {
	char name[HIST_NAME_LEN];
};

TABLE_WITH_TURNS(hist_table, struct hist_key, struct hist_octave, 32768);

/*
 * Names of the keys, since their owners may be gone when the table is printed. Never deleted: the
 * LRU map evicts the least recently written names, which have been printed.
 */
MAP_LRU(hist_labels, __u64, struct hist_label, 16384);

const struct hist_octave hist_empty_octave = {};

/* Returns the octave of a key; NULL: table full. A new octave is created with the key's name. */
static __always_inline struct hist_octave *hist_find_octave(const struct hist_key *key,
							    const void *name)
{
	struct hist_label label = {};
	void *table = TABLE_IN_USE(hist_table, hist_settings.has_turns);
	struct hist_octave *o;

	o = bpf_map_lookup_elem(table, key);
	if (o)
		return o;
	bpf_probe_read_kernel_str(label.name, sizeof(label.name), name);
	bpf_map_update_elem(&hist_labels, &key->id, &label, BPF_ANY);
	bpf_map_update_elem(table, key, &hist_empty_octave, BPF_NOEXIST);
	return bpf_map_lookup_elem(table, key);
}

/* Records a value of a key. name: the key's name, in kernel memory; NULL: none. */
static __always_inline void hist_record_by_key(__u64 ns, __u64 id, const void *name)
{
	__u64 fixed = hist_to_fixed(ns);
	struct hist_key key = { .id = id, .octave = hist_octave_of(fixed) };
	struct hist_octave *o = hist_find_octave(&key, name);

	if (!o) {
		loss_count(LOSS_MAP_FULL, 1);
		return;
	}
	__sync_fetch_and_add(&o->slots[hist_slot_of(fixed, key.octave)], 1);
	__sync_fetch_and_add(&o->sum, fixed);
	hist_update_max(o, fixed);
}

#endif
