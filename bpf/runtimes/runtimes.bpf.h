/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Walks frames of managed runtimes after the native stack: in a list of their own, or among the
 * native frames. Words of their functions follow the native ones.
 */
#ifndef RUNTIMES_BPF_H
#define RUNTIMES_BPF_H

#include "runtimes/python.bpf.h"
#include "runtimes/v8.bpf.h"
#include "stack/unwind.bpf.h"

/* Appends the frames of the current task's runtime to its native stack in the slot. */
__noinline int runtimes_walk(__u32 slot)
{
	struct stack_scratch *scratch = stack_scratch_of(slot);
	struct runtime_process *process;

	if (!runtime_settings.kinds || !scratch || !scratch->highest_sp || !scratch->def.n_words)
		return 0;
	process = bpf_map_lookup_elem(&runtime_processes, &scratch->def.tgid);
	if (!process)
		return 0;
	for (__u32 i = 0; i < STACK_DEPTH && i < scratch->n_noted; i += STACK_CHUNK)
		runtime_push_noted(slot, i);
	if (process->kind <= RUNTIME_PYTHON_OLD)
		python_walk(slot, scratch, process);
	else if (process->kind == RUNTIME_V8)
		v8_walk_frames(slot, scratch, process);
	if (scratch->is_cut && scratch->def.reason == UNWIND_COMPLETE)
		scratch->def.reason = UNWIND_DEPTH;
	return 0;
}

#endif
