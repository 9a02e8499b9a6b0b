/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Walks the Python frames of another process's thread that isn't running, as
 * bpf/runtimes/python.bpf.h does for the current task, but with reads that may be expensive.
 */
#ifndef PYTHON_WALK_H
#define PYTHON_WALK_H

#include "runtimes/runtime.h"

/* Implements walk() of struct runtime_code. */
size_t python_walk_remote(const struct runtime_thread *thread, uint64_t *words, size_t max,
			  bool *is_cut);

#endif
