/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Stacks, shared by BPF and the loader. A stack id is a 64-bit hash of the stack's contents; the
 * contents are sent once, when the id is first seen, as a struct stack_def cut to its used length.
 * Counts per stack id stay in a map until the loader reads them.
 */
#ifndef ABI_STACK_H
#define ABI_STACK_H

#include "abi/filter.h"

#define STACK_DEPTH	   512
#define STACK_WORDS	   1024			 /* including runtimes' words, see abi/runtime.h */
#define STACK_KERNEL_BYTES (127 * sizeof(__u64)) /* sysctl kernel.perf_event_max_stack */
#define STACK_CHUNK	   32 /* words per call: the verifier walks each iteration of a loop */

#define STACK_CHUNKS (STACK_DEPTH / STACK_CHUNK)

/* Indices are masked with n - 1, and loops take whole chunks. */
#define STACK_IS_SIZE(n) (((n) & ((n)-1)) == 0 && (n) >= STACK_CHUNK)
_Static_assert(STACK_IS_SIZE(STACK_DEPTH), "a power of two, of whole chunks");
_Static_assert(STACK_IS_SIZE(STACK_WORDS), "a power of two, of whole chunks");
_Static_assert(STACK_IS_SIZE(STACK_CHUNK), "a power of two");

/* Slots per CPU for preemptible programs, which claim them. */
#define STACK_CPU_SLOTS 4

enum stack_kind {
	STACK_USER,
	STACK_KERNEL,
	STACK_WAKER,	/* words: user stack's id, kernel stack's id, comm (two words) */
	STACK_COPY,	/* a user stack that the loader walks: struct unwind_copy */
	STACK_FUNCTION, /* a definition of a function's word: struct runtime_def */
	STACK_EVENT,	/* not a stack: struct stack_event */
};

struct stack_def {
	__u64 id;
	__u32 kind;
	__u32 tgid;	  /* user stacks: process to which the addresses belong */
	__u32 generation; /* changes when the process executes another program */
	__u16 n_words;
	__u16 reason;		  /* user stacks: how the walk ended, enum unwind_reason */
	__u64 time_ns;		  /* time at which the stack was first seen; 0: unknown */
	__u64 map_size;		  /* bytes of the process's perf map at that time; 0: unknown */
	__u64 words[STACK_WORDS]; /* up to STACK_DEPTH addresses, leaf first; see STACK_EXACT */
};

/*
 * The words of a user stack are return addresses, except the first one and the two around a signal:
 * the interrupted instruction, and the trampoline to which the handler returns. These exact
 * addresses are marked: bit 62 differs from bit 63, which no address has. The loader resolves
 * return addresses minus one byte, inside the call.
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

/* Returns the address without the marker. */
static inline __u64 stack_address(__u64 word)
{
	return stack_is_exact(word) ? word ^ STACK_EXACT : word;
}

/* Marks ids of user stacks that the loader walks: number of the visit << 32 | thread id. */
#define STACK_ID_AT_START (1ULL << 63)

/* Marks ids of interned stacks, shared by processes: see stacks/resolver.h. */
#define STACK_ID_FOLDED (3ULL << 62)

/* A set of the cache of recently sent stack ids. The loader removes ids that it has released. */
#define STACK_SENT_WAYS 4
#define STACK_SENT_SETS 16384

struct stack_sent_set {
	__u64 ids[STACK_SENT_WAYS];
};

static inline __u32 stack_sent_set_of(__u64 id)
{
	return (id >> 8) % STACK_SENT_SETS;
}

/* Key of a count; ids are 0 if there is no stack. */
struct stack_key {
	__u64 user_id;
	__u64 kernel_id;
	__u64 waker_id;
	__u64 cgroup_id; /* cgroup v2 id; 0: not counted per cgroup */
	__u32 tgid;
	__u32 tid;   /* thread id; 0: not counted per thread */
	__u16 cpu;   /* CPU number + 1; 0: not counted per CPU */
	__u8 state;  /* letter of the task's state; 0: none */
	__u8 remark; /* number of the tool's remark; 0: none */
	char comm[TASK_COMM_LEN];
	__u32 group; /* number of the loader's own marker; 0, as in BPF: none */
};

struct stack_settings {
	bool user;
	bool kernel;
	bool cgroup; /* count per cgroup */
	bool thread; /* count per thread */
	bool events; /* send each count as a struct stack_event instead of totalling them */
};

struct stack_sum {
	__u64 value;
	__u64 part; /* part of value that the tool counts separately */
};

/* One count, in the ring buffer of definitions. Begins like struct stack_def. */
struct stack_event {
	__u64 time_ns; /* time at which the event was counted */
	__u32 kind;    /* always STACK_EVENT */
	__u32 unused;
	struct stack_sum sum;
	struct stack_key key;
};

#endif
