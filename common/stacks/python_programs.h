/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Programs that begin and may run Python: their processes are looked at in time for scripts of some
 * milliseconds, also while events are batched. BPF reports each program (bpf/runtimes/python_state.bpf.h),
 * except those whose earlier processes were never a Python.
 */
#ifndef PYTHON_PROGRAMS_H
#define PYTHON_PROGRAMS_H

#include <stdbool.h>
#include <sys/types.h>

#include "process/watch.h"
#include "run/run.h"

struct python_programs;

/*
 * The watch, whose events lead to what is known of a process, and has_python() remain the caller's.
 * NULL, printed, if BPF can't be heard.
 */
struct python_programs *python_programs_watch(struct run *run, struct watch *watch,
					      bool (*has_python)(pid_t pid, void *arg), void *arg);
void python_programs_close(struct python_programs *programs);

/* The process runs Python, as has now turned out. */
void python_programs_found(struct python_programs *programs, pid_t pid);

#endif
