/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finds the location of a thread's Python state relative to its thread pointer. It is not exported,
 * so the process's memory is searched. The offset is the same for all threads of a process, and
 * mostly for all processes that run the same Python.
 */
#ifndef PYTHON_PLACE_H
#define PYTHON_PLACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "runtimes/python/layout.h"
#include "runtimes/runtime.h"

struct python_process {
	pid_t pid;
	const struct python_file *python;
	uint64_t bias;	     /* load address of the file in the process */
	int32_t self_offset; /* as in struct python_layout */
};

/*
 * Returns the offset of the state from the thread pointer; 0: not found. Without threads (none has
 * started yet, or the process can't be read) it may be found later; with threads another search is
 * not worthwhile. known: the offset found before, or 0; preferred among equals.
 */
int32_t python_place_find(const struct python_process *process, int32_t known, bool *has_threads);

#endif
