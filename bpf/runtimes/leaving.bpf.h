/* SPDX-License-Identifier: GPL-2.0-only */
/* Leaves frames of code that runtimes generate, when the native walk reaches it. */
#ifndef LEAVING_BPF_H
#define LEAVING_BPF_H

#include "runtimes/hotspot.bpf.h"

/* Moves to the caller. UNWIND_NO_RULE: other code, or code that keeps frame pointers. */
static __always_inline int runtimes_leave(__u32 slot)
{
	if (RUNTIME_HAS(HOTSPOT_KINDS))
		return hotspot_step(slot);
	return UNWIND_NO_RULE;
}

/*
 * Returns true if ip is in code that V8 generated at run time: all of it keeps frame pointers, so
 * its instructions need not be decoded. V8's code in files is treated like other code.
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
