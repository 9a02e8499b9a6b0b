/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The module of tools that keep a state of each task, the loader's part of bpf/sched/task_state.bpf.h. It
 * uses task storage where the kernel has it for tracing programs, else a hash table.
 */
#ifndef TASKSTATE_H
#define TASKSTATE_H

#include <stddef.h>

#include "run/run.h"

extern const struct module taskstate_module;

/* A tool's declaration; optional. */
struct taskstate_spec {
	bool sees_ends; /* its program defines TASK_STATE_HAS_END */
};

/*
 * After load: lets the task iterator visit every task. It may write records of size bytes each,
 * which are handed to visit (NULL: it writes none). 0 or -errno, printed.
 *
 * A task whose state can't be made at the moment is visited again a few times, so a visit must do
 * no harm when it is repeated. State that is missing then, or since a fork, is made later, while
 * the loop runs: within TASKSTATE_RETRY_MS.
 */
#define TASKSTATE_RETRY_MS 1000

int taskstate_visit(const struct run *run, size_t size,
		    void (*visit)(const void *record, void *arg), void *arg);

/* Another iterator over all tasks, by the name of its program: before load, and to run it. */
void taskiter_configure(const struct run *run, const char *program);
int taskiter_visit(const struct run *run, const char *program, size_t size,
		   void (*visit)(const void *record, void *arg), void *arg);

#endif
