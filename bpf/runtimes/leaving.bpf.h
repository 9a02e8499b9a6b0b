/* SPDX-License-Identifier: GPL-2.0-only */
/* Leaves frames of code that a runtime has made, as the native walk arrives there. */
#ifndef LEAVING_BPF_H
#define LEAVING_BPF_H

#include "runtimes/hotspot.bpf.h"

/* Moves to the caller. UNWIND_NO_RULE: other code, or code that is left by its frame pointer. */
static __always_inline int runtimes_leave(__u32 slot)
{
	if (RUNTIME_HAS(HOTSPOT_KINDS))
		return hotspot_step(slot);
	return UNWIND_NO_RULE;
}

static __always_inline bool unwind_mapping_has(const struct unwind_mapping *m, __u64 ip)
{
	return ip >= m->start && ip < m->end;
}

/*
 * Returns true in code that V8 has compiled: all of it keeps frame pointers, so there is nothing to
 * recognize. V8's code in a file leads to it, along a frame pointer.
 */
static __always_inline bool runtimes_keep_frames(__u32 slot, struct unwind_state *s)
{
	struct stack_scratch *scratch = stack_scratch_of(slot);
	struct runtime_process *process;

	if (!RUNTIME_HAS(RUNTIME_BIT(RUNTIME_V8)) || !scratch || s->mapping.n_pages ||
	    !unwind_mapping_has(&s->mapping, s->ip))
		return false;
	if (s->runtime)
		return s->runtime == RUNTIME_V8;
	process = bpf_map_lookup_elem(&runtime_processes, &scratch->def.tgid);
	if (!process || process->kind != RUNTIME_V8)
		return false;
	s->runtime = RUNTIME_V8;
	return true;
}

#endif
