/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finds a thread's Python state relative to its thread pointer. Nothing exports it, so the
 * process's memory is searched. All threads of a process have it at the same offset, and mostly all
 * processes that run the same Python.
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
 * Returns the distance, or 0: not found. Without threads (there is none yet, or the process can't
 * be read) it may be found later; with some it is not worth another search. known: the location
 * found before, or 0; preferred among equals.
 */
int32_t python_place_find(const struct python_process *process, int32_t known, bool *has_threads);

#endif
