/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Size and lifetime of BPF's memory of walks of user stacks (bpf/stack/stack_memory.bpf.h).
 * Programs whose stacks don't recur have no such memory; then all of this does nothing.
 */
#ifndef STACKS_STACK_MEMORY_H
#define STACKS_STACK_MEMORY_H

#include "run/run.h"

/* Before load: sets its size, by the number of CPUs. 0 or -errno, printed. */
int stack_memory_configure(struct run *run);

/* Before load: nothing is remembered. */
void stack_memory_leave_out(const struct run *run);

/*
 * Invalidates the remembered walks: definitions have to be sent again, or a process's stacks are
 * walked differently from now on.
 */
void stack_memory_forget(const struct run *run);

#endif
