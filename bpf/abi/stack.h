/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Stacks, shared by BPF and the loader. A stack id is a 64-bit hash of the stack's contents; the
 * contents are sent once, when the id is first seen, as a struct stack_def of just their length.
 * Counts per stack id stay in a map until the loader reads it.
 */
#ifndef ABI_STACK_H
#define ABI_STACK_H

#include "abi/filter.h"

#define STACK_DEPTH	   512
#define STACK_WORDS	   1024			 /* with those of runtimes, see abi/runtime.h */
#define STACK_KERNEL_BYTES (127 * sizeof(__u64)) /* sysctl kernel.perf_event_max_stack */
#define STACK_CHUNK	   32 /* words per call: the verifier walks each iteration of a loop */

/* Indices are masked by n - 1, and loops take whole chunks. */
#define STACK_IS_SIZE(n) (((n) & ((n)-1)) == 0 && (n) >= STACK_CHUNK)
_Static_assert(STACK_IS_SIZE(STACK_DEPTH), "a power of two, of whole chunks");
_Static_assert(STACK_IS_SIZE(STACK_WORDS), "a power of two, of whole chunks");
_Static_assert(STACK_IS_SIZE(STACK_CHUNK), "a power of two");

/* Slots per CPU for programs that can be preempted and claim them. */
#define STACK_CPU_SLOTS 4

enum stack_kind {
	STACK_USER,
	STACK_KERNEL,
	STACK_WAKER,	/* words: user stack's id, kernel stack's id, comm (two words) */
	STACK_COPY,	/* a user stack that the loader walks: struct unwind_copy */
	STACK_FUNCTION, /* the meaning of a function's word: struct runtime_def */
};

struct stack_def {
	__u64 id;
	__u32 kind;
	__u32 tgid;	  /* user stacks: process whose addresses these are */
	__u32 generation; /* changes when the process executes another program */
	__u16 n_words;
	__u16 reason;		  /* user stacks: how the walk ended, enum unwind_reason */
	__u64 time_ns;		  /* when the stack was first seen; 0: unknown */
	__u64 map_size;		  /* bytes of the process's perf map at that time; 0: unknown */
	__u64 words[STACK_WORDS]; /* up to STACK_DEPTH addresses, leaf first; see STACK_EXACT */
};

/*
 * The words of a user stack are return addresses, except the first one and the two around a signal:
 * the interrupted instruction, and the trampoline to which the handler returns. These two are
 * marked by a bit that differs from the one above it, as it never does in an address. The loader
 * resolves a return address inside the call, one byte lower.
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

/*
 * An id with both bits is that of an interned stack, shared by processes: see stacks/resolver.h.
 */
#define STACK_ID_FOLDED (3ULL << 62)

/*
 * Stack ids that were sent recently; each map element is one set of this cache. The loader removes
 * those that it has released.
 */
#define STACK_SENT_WAYS 4
#define STACK_SENT_SETS 16384

struct stack_sent_set {
	__u64 ids[STACK_SENT_WAYS];
};

static inline __u32 stack_sent_set_of(__u64 id)
{
	return (id >> 8) % STACK_SENT_SETS;
}

/* Ids are 0 if there is no stack. */
struct stack_key {
	__u64 user_id;
	__u64 kernel_id;
	__u64 waker_id;
	__u64 cgroup_id; /* v2; 0: not by cgroup */
	__u32 tgid;
	__u32 tid;   /* 0: not per thread */
	__u16 cpu;   /* CPU number + 1; 0: not counted per CPU */
	__u8 state;  /* state of the task, as a letter; 0: none */
	__u8 remark; /* number of the tool's remark; 0: none */
	char comm[TASK_COMM_LEN];
	__u32 none; /* 0: a key is whole words */
};

struct stack_settings {
	bool user;
	bool kernel;
	bool cgroup; /* counts are per cgroup */
	bool thread; /* and per thread */
};

struct stack_sum {
	__u64 value;
	__u64 part; /* the part of value that the tool counts separately */
};

#endif
