/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Module of tools with per-task state: the loader's part of bpf/sched/task_state.bpf.h. Uses task
 * storage if the kernel supports it in tracing programs, else a hash table.
 */
#ifndef TASKSTATE_H
#define TASKSTATE_H

#include <stddef.h>

#include "run/run.h"

extern const struct module taskstate_module;

/* A tool's declaration, optional. */
struct taskstate_spec {
	bool sees_ends; /* its program defines TASK_STATE_HAS_END */
};

/*
 * Runs the task iterator over every task, after load. visit gets the records, of size bytes each,
 * that the iterator writes; NULL: it writes none. 0 or -errno, printed.
 *
 * If a task's state can't be allocated, the task is visited again a few times, so visits must be
 * repeatable. State that is still missing, or missing since a fork, is made while the loop runs,
 * within TASKSTATE_RETRY_MS.
 */
#define TASKSTATE_RETRY_MS 1000

int taskstate_visit(const struct run *run, size_t size,
		    void (*visit)(const void *record, void *arg), void *arg);

/* Configure and run another iterator over all tasks, by the name of its program. */
void taskiter_configure(const struct run *run, const char *program);
int taskiter_visit(const struct run *run, const char *program, size_t size,
		   void (*visit)(const void *record, void *arg), void *arg);

#endif
