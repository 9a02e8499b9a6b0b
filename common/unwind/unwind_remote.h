/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The walker of bpf/stack/unwind.bpf.h from outside: the same tables and rules, the stack's memory
 * by process_vm_readv(2), or from a copy of it.
 */
#ifndef UNWIND_REMOTE_H
#define UNWIND_REMOTE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "unwind/unwind_tables.h"

/* A process's mappings; tables NULL: by frame pointers alone. */
struct unwind_view {
	pid_t pid; /* or the id of any of its threads */
	const struct unwind_tables *tables;
	const struct unwind_mapping *mappings;
	size_t n_mappings;
	const struct unwind_copy *copy;	      /* NULL: the process's memory as it is now */
	const struct unwind_returns *returns; /* return probes of the thread; NULL: none */
	uint64_t *sps; /* stack address at which each frame begins, one per word; or NULL */
};

/*
 * Walks the stack of a thread that isn't running, or of which there is a copy. Writes at most max
 * words as a struct stack_def has them, leaf first, and how the walk ended (enum unwind_reason).
 * Returns their number, at least 1.
 */
size_t unwind_walk_remote(const struct unwind_view *view, const struct unwind_regs *regs,
			  uint64_t *words, size_t max, int *reason);

/*
 * The same for a thread that was off CPU. If it has run since, its stack does not match the
 * registers: then only the leaf and UNWIND_RAN_ON are returned.
 */
size_t unwind_walk_thread(const struct unwind_view *view, const struct unwind_thread *thread,
			  uint64_t *addrs, size_t max, int *reason);

/*
 * Copies the innermost UNWIND_COPY_LARGE bytes of its stack, for unwind_walk_remote(). NULL: it has
 * come to a CPU since. Free with free().
 */
struct unwind_copy *unwind_copy_thread(const struct unwind_thread *thread);

/* Returns how often a thread got a CPU; UINT64_MAX: no such thread. */
uint64_t unwind_count_arrivals(uint32_t tgid, uint32_t tid);

#endif
