/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Names and defines V8's functions from outside of the process, as bpf/runtimes/v8.bpf.h does for
 * the current task.
 */
#ifndef V8_WALK_REMOTE_H
#define V8_WALK_REMOTE_H

#include "runtimes/runtime.h"

/* Implements walk() of struct runtime_code, for a thread that isn't running. */
size_t v8_walk_remote(const struct runtime_thread *thread, uint64_t *words, size_t max,
		      bool *is_cut);

/* Fills in the definition of a SharedFunctionInfo. False: it is another object, or unreadable. */
bool v8_define_remote(pid_t pid, const struct v8_layout *layout, uint64_t shared,
		      struct v8_def *def);

#endif
