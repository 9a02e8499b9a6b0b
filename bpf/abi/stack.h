/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Stacks on both sides of the kernel border. A stack is named by a 64-bit hash of its contents; the
 * contents are sent once, when the name is first seen, as a struct stack_def of just their length.
 * What is counted per name stays in a map until the loader reads it.
 */
#ifndef STACK_H
#define STACK_H

#include "abi/filter.h"

#define STACK_DEPTH	   512			 /* a multiple of STACK_CHUNK */
#define STACK_KERNEL_BYTES (127 * sizeof(__u64)) /* sysctl kernel.perf_event_max_stack */
#define STACK_CHUNK	   32 /* so many at a time: the verifier goes through each turn of a loop */

/* Slots per CPU for programs that can be preempted and claim them. */
#define STACK_CPU_SLOTS 4

enum stack_kind {
	STACK_USER,
	STACK_KERNEL,
	STACK_WAKER, /* words: user stack's id, kernel stack's id, comm (two words) */
	STACK_COPY,  /* a user stack that is still to be walked: struct unwind_copy */
};

struct stack_def {
	__u64 id;
	__u32 kind;
	__u32 tgid;	  /* user stacks: whose addresses these are */
	__u32 generation; /* changes when the process executes another program */
	__u16 n_words;
	__u16 reason;		  /* user stacks: how the walk ended, enum unwind_reason */
	__u64 time_ns;		  /* when it was first seen; 0: not told */
	__u64 words[STACK_DEPTH]; /* addresses, leaf first; see STACK_EXACT */
};

/*
 * Words of user stacks other than the first are return addresses, but for those on either side of a
 * signal: the function that it interrupted, at exactly that instruction, and the trampoline to
 * which the handler returns. They are marked, by a bit that differs from the one above it as it
 * never does in an address. The loader looks return addresses up inside the call.
 */
#define STACK_EXACT (1ULL << 62)

static inline __u64 stack_mark_exact(__u64 word)
{
	return (word & ~STACK_EXACT) | (~word >> 1 & STACK_EXACT);
}

static inline bool stack_is_exact(__u64 word)
{
	return (word ^ word << 1) >> 63;
}

/* The address without the mark. */
static inline __u64 stack_address(__u64 word)
{
	return stack_is_exact(word) ? word ^ STACK_EXACT : word;
}

/* A stack id with this bit was given by the loader: the user stack of thread (__u32)id at start. */
#define STACK_ID_AT_START (1ULL << 63)

/* Ids are 0 where there is no stack. */
struct stack_key {
	__u64 user_id;
	__u64 kernel_id;
	__u64 waker_id;
	__u32 tgid;
	__u16 cpu;   /* profile --per-cpu: number + 1 */
	__u8 state;  /* offcputime: the task's state letter */
	__u8 remark; /* enum stack_remark */
	char comm[TASK_COMM_LEN];
};

enum stack_remark {
	REMARK_NONE,
	REMARK_AT_START, /* blocked when tracing began */
	REMARK_AT_END,	 /* still blocked when it ended */
	REMARK_THROUGHOUT,
	REMARK_KERNEL, /* a page fault of the kernel */
	REMARK_MAJOR,  /* one that had to wait for a file or swap */
	REMARK_KERNEL_MAJOR,
};

struct stack_settings {
	bool user;
	bool kernel;
};

struct stack_sum {
	__u64 value;
	__u64 part; /* of value: the runnable part */
};

#endif
