/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Walks stacks of threads that don't run, with unwind tables in this process's own memory: without
 * BPF, and without stopping anything. /proc has only the instruction and the stack pointer of
 * such a thread, so a stack ends early where a frame needs another register.
 */
#ifndef DUMP_WALKER_H
#define DUMP_WALKER_H

#include "process/processes.h"
#include "runtimes/runtime.h"
#include "unwind/unwind_remote.h"

struct walker;

/* Creates a walker; processes is borrowed. lines: of managed code, too. Freed by walker_free(). */
struct walker *walker_new(struct processes *processes, bool lines);
void walker_free(struct walker *walker);

/* Prepares tables for a process, whose threads are walked next. maps: borrowed, NULL: none. */
void walker_begin(struct walker *walker, pid_t pid, struct maps *maps);

/*
 * Returns the managed runtime of the process whose threads are walked; NULL: pid is another
 * process, or has no runtime.
 */
struct runtime_instance *walker_runtime(pid_t pid, void *walker);

/*
 * Walks a thread's user stack, with the functions of a managed runtime: passes their definitions to
 * definer. words: STACK_WORDS elements. Returns their number, 0 for a thread of the kernel.
 * *reason: enum unwind_reason, UNWIND_RAN_ON if the thread has run since thread->arrivals was read.
 */
size_t walker_walk(struct walker *walker, struct unwind_thread *thread,
		   const struct runtime_definer *definer, uint64_t *words, int *reason);

#endif
