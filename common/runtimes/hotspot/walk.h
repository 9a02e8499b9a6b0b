/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Names the frames of a thread that isn't running, which the native walk has found
 * (unwind_remote.c), as bpf/runtimes/hotspot.bpf.h does for the current task.
 */
#ifndef HOTSPOT_WALK_REMOTE_H
#define HOTSPOT_WALK_REMOTE_H

#include "runtimes/runtime.h"

/* Implements walk() of struct runtime_code. */
size_t hotspot_walk_remote(const struct runtime_thread *thread, uint64_t *words, size_t max,
			   bool *is_cut);

#endif
