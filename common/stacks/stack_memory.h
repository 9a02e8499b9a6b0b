/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Size and lifetime of BPF's cache of walked user stacks (bpf/stack/stack_memory.bpf.h). In
 * programs without this cache, whose stacks don't recur, the functions do nothing.
 */
#ifndef STACKS_STACK_MEMORY_H
#define STACKS_STACK_MEMORY_H

#include "run/run.h"

/* Sets the size of the cache by the number of CPUs, before load. Returns 0 or -errno, printed. */
int stack_memory_configure(struct run *run);

/* Leaves out the cache, before load. */
void stack_memory_leave_out(const struct run *run);

/*
 * Invalidates the cached walks: definitions have to be sent again, or a process's stacks are walked
 * differently from now on.
 */
void stack_memory_forget(const struct run *run);

#endif
