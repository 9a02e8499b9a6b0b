/* SPDX-License-Identifier: GPL-2.0-only */
/* The loader's part of bpf/task_state.bpf.h: which kind of storage, and the first visit. */
#ifndef TASKSTATE_H
#define TASKSTATE_H

#include <stddef.h>

#include "run/tool.h"

/* Before load: task storage where the kernel has it for tracing programs, else a hash table. */
int taskstate_configure(const struct run *run);

/* Instead of that, for what a tool does without state. */
void taskstate_leave_out(const struct run *run);

/*
 * Lets the task iterator visit every task. It may write records of size bytes each, which are
 * handed to visit (NULL: it writes none). 0 or -errno, printed.
 */
int taskstate_visit(const struct run *run, size_t size,
		    void (*visit)(const void *record, void *arg), void *arg);

/* Another iterator over all tasks, by the name of its program: before load, and to run it. */
void taskiter_configure(const struct run *run, const char *program);
int taskiter_visit(const struct run *run, const char *program, size_t size,
		   void (*visit)(const void *record, void *arg), void *arg);

#endif
