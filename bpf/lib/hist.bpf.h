/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Records values in a single histogram, per CPU and thus without atomics, or in one per key
 * (process, thread, disk, CPU, cgroup), with one element of a hash table per octave.
 */
#ifndef HIST_BPF_H
#define HIST_BPF_H

#include "lib/compat.bpf.h"
#include "abi/filter.h"
#include "abi/hist.h"
#include "lib/loss.bpf.h"
#include "lib/table.bpf.h"

struct hist_label {
	char name[HIST_NAME_LEN];
};

const volatile struct hist_settings hist_settings SEC(".rodata.hist");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, HIST_OCTAVES);
	__type(key, __u32);
	__type(value, struct hist_octave);
} hist_all SEC(".maps");

TABLE_WITH_TURNS(hist_table, struct hist_key, struct hist_octave, 32768);

/*
 * Names of the keys, since their owners may be gone when the table is printed. Never deleted: the
 * LRU map evicts the least recently written names, which have been printed.
 */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, __u64);
	__type(value, struct hist_label);
} hist_labels SEC(".maps");

const struct hist_octave hist_empty_octave = {};

static __always_inline __u64 hist_to_fixed(__u64 ns)
{
	return hist_scale(ns < HIST_MAX_NS ? ns : HIST_MAX_NS, hist_settings.mult,
			  hist_settings.shift);
}

static __always_inline void hist_update_max(struct hist_octave *o, __u64 fixed)
{
	if (o->max < fixed)
		o->max = fixed;
}

/* Records a value. A global function: the verifier checks it once, not once per call and path. */
__noinline int hist_record(__u64 ns)
{
	__u64 fixed = hist_to_fixed(ns);
	__u32 octave = hist_octave_of(fixed);
	struct hist_octave *o = bpf_map_lookup_elem(&hist_all, &octave);

	if (!o)
		return 0;
	o->slots[hist_slot_of(fixed, octave)]++;
	o->sum += fixed;
	hist_update_max(o, fixed);
	return 0;
}

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
