/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Walks stacks from outside the process like bpf/stack/unwind.bpf.h: with the same tables and
 * rules, and the stack's memory from process_vm_readv(2) or from a copy.
 */
#ifndef UNWIND_REMOTE_H
#define UNWIND_REMOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "abi/runtimes.h"
#include "abi/stack.h"
#include "unwind/unwind_tables.h"

/* Facts about the frames of a walk that runtimes need. */
struct native_frames {
	uint64_t sps[STACK_DEPTH];     /* stack address at which each frame begins */
	uint64_t bps[STACK_DEPTH];     /* frame pointer in each frame */
	uint32_t framed[STACK_CHUNKS]; /* a bit per frame: left along the frame pointer, no rule */
};

/* Results of a runtime's leave() for one frame of its generated code. */
struct unwind_leaving {
	uint64_t pc;   /* address to report instead of the frame's; 0: none */
	uint32_t note; /* for the runtime's next leave(); 0: the callee is other code */
};

/* Inputs of a walk, all borrowed; tables NULL: walk by frame pointers alone. */
struct unwind_view {
	pid_t pid; /* or the id of any thread of the process */
	const struct unwind_tables *tables;
	const struct unwind_mapping *mappings;
	size_t n_mappings;
	const struct unwind_copy *copy;	      /* copy of the stack; NULL: reads the process */
	const struct unwind_returns *returns; /* pending return probes of the thread; NULL: none */
	uint32_t *framed; /* receives bits as in struct native_frames; NULL: not wanted */
	/* receive each frame's stack address and frame pointer, one per word; NULL: not wanted */
	uint64_t *sps, *bps;
	const struct runtime_process *runtime; /* the process's runtime; NULL: none */
	/* see struct runtime_code; NULL: the runtime has no such frames */
	int (*leave)(const struct unwind_view *view, struct unwind_state *s,
		     struct unwind_leaving *leaving);
};

/*
 * Walks the stack of a thread that isn't running, or whose stack was copied. Writes at most max
 * words in the format of struct stack_def, leaf first, and how the walk ended (enum unwind_reason).
 * Returns the number of words, at least 1.
 */
size_t unwind_walk_remote(const struct unwind_view *view, const struct unwind_regs *regs,
			  uint64_t *words, size_t max, int *reason);

/*
 * Reads memory of the traced process, or the copy of its stack, during a walk. Serves as
 * unwind_read() in a runtime's leave().
 */
bool unwind_remote_read(struct unwind_state *s, void *dst, uint32_t size, uint64_t addr);

/*
 * Walks the stack of a thread that was off CPU. If the thread has run since, its stack does not
 * match the registers: then only the leaf and UNWIND_RAN_ON are returned.
 */
size_t unwind_walk_thread(const struct unwind_view *view, const struct unwind_thread *thread,
			  uint64_t *addrs, size_t max, int *reason);

/*
 * Copies the innermost UNWIND_COPY_LARGE bytes of a thread's stack, for unwind_walk_remote(). NULL:
 * the thread has run since. Freed with free().
 */
struct unwind_copy *unwind_copy_thread(const struct unwind_thread *thread);

/* Returns how often a thread was scheduled in; UINT64_MAX: no such thread. */
uint64_t unwind_count_arrivals(uint32_t tgid, uint32_t tid);

#endif
