/* SPDX-License-Identifier: GPL-2.0-only */
/* Records values in a single histogram, per CPU and thus without atomics. */
#ifndef HIST_ALL_BPF_H
#define HIST_ALL_BPF_H

#include "lib/compat.bpf.h"
#include "abi/hist.h"
#include "lib/maps.bpf.h"

const volatile struct hist_settings hist_settings SEC(".rodata.hist");

MAP_PERCPU_ARRAY(hist_all, struct hist_octave, HIST_OCTAVES);

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
	struct hist_octave *o;

	if (!hist_settings.mult) /* the map is left out */
		return 0;
	o = bpf_map_lookup_elem(&hist_all, &octave);
	if (!o)
		return 0;
	o->slots[hist_slot_of(fixed, octave)]++;
	o->sum += fixed;
	hist_update_max(o, fixed);
	return 0;
}

#endif
