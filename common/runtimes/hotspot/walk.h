/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Walks and names the frames of a thread that isn't running, as bpf/runtimes/hotspot.bpf.h does for
 * the current task.
 */
#ifndef HOTSPOT_WALK_REMOTE_H
#define HOTSPOT_WALK_REMOTE_H

#include "runtimes/runtime.h"
#include "unwind/unwind_remote.h"

/* Implements leave() of struct runtime_code. */
int hotspot_leave_remote(const struct unwind_view *view, struct unwind_state *s,
			 struct unwind_leaving *leaving);

/* Implements walk() of struct runtime_code. */
size_t hotspot_walk_remote(const struct runtime_thread *thread, uint64_t *words, size_t max,
			   bool *is_cut);

#endif
