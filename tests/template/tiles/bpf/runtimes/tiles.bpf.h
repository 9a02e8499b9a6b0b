/* SPDX-License-Identifier: GPL-2.0-only */
/* Leaves frames of tiles, and records their functions. */
#ifndef TILES_BPF_H
#define TILES_BPF_H

#include "runtimes/runtime_state.bpf.h"
#include "abi/tiles_walk.h"

#define TILES_KINDS RUNTIME_BIT(RUNTIME_TILES)

__noinline int tiles_step(__u32 slot)
{
	struct stack_scratch *scratch = stack_scratch_of(slot);
	struct tiles_walk *w = (struct tiles_walk *)runtime_walk_of(slot, TILES_KINDS);
	struct runtime_process *process;
	__u64 at;

	if (!scratch || !w)
		return UNWIND_NO_RULE;
	process = bpf_map_lookup_elem(&runtime_processes, &scratch->def.tgid);
	if (!process || process->kind != RUNTIME_TILES ||
	    !tiles_has(&process->tiles, scratch->walk.ip))
		return UNWIND_NO_RULE;
	at = tiles_at(scratch->walk.ip);
	if (bpf_probe_read_user(&w->head, sizeof(w->head), (void *)at))
		return UNWIND_FAULT;
	tiles_define(w, process->serial, at, scratch->def.tgid, RUNTIME_TILES);
	if (!runtime_was_sent(w->def.def.fingerprint))
		runtime_send(scratch, &w->def.def, sizeof(w->def), sizeof(w->def));
	runtime_note_function(scratch, scratch->def.n_words - 1, w->def.def.word, -1);
	scratch->fingerprints = runtime_mix(scratch->fingerprints, w->def.def.fingerprint);
	scratch->walk.runtime = RUNTIME_TILES;
	return tiles_leave(&scratch->walk, &w->head);
}

#endif
