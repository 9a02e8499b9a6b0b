/* SPDX-License-Identifier: GPL-2.0-only */
/* Waits for locks, shared by BPF and the loader; counted per lock, waiter, stack and waker. */
#ifndef ABI_LOCKS_H
#define ABI_LOCKS_H

#include "abi/stack.h"

enum lock_kind {
	LOCK_FUTEX,	/* a futex: used by a program's mutex, condition variable, semaphore, ... */
	LOCK_FUTEX_PI,	/* a futex with priority inheritance */
	LOCK_FUTEX_ANY, /* the first of several futexes: futex_waitv() */
	LOCK_MUTEX,	/* kernel locks from here on */
	LOCK_RWSEM,
	LOCK_PERCPU_RWSEM,
	LOCK_RTMUTEX,
	LOCK_SEMAPHORE,
	LOCK_SPIN,
	LOCK_RWLOCK, /* waiters spin on the CPU, as for LOCK_SPIN */
	LOCK_KINDS,
};

static inline bool lock_is_kernels(__u32 kind)
{
	return kind >= LOCK_MUTEX;
}

/* How a wait ended. */
enum lock_end {
	LOCK_END_UNSEEN,   /* no waker: the thread spun, or still waits */
	LOCK_END_RELEASED, /* the waker released the lock */
	LOCK_END_GIVEN_UP, /* timeout, signal or end of the process */
};

/* A lock, and how a wait for it ended. */
struct lock_wait {
	__u64 addr; /* address of the lock; 0: no lock */
	char waker_comm[TASK_COMM_LEN];
	__u32 waker_tgid;
	__u32 generation; /* exec count of the process that has the address; 0: the kernel */
	__u8 kind;	  /* enum lock_kind */
	__u8 end;	  /* enum lock_end */
	__u8 is_private;  /* private to one process, even in shared memory */
	__u8 padding[5];
};

struct lock_key {
	struct stack_key stack; /* the waiter's stack */
	struct lock_wait lock;
};

struct lock_sum {
	__u64 count;
	__u64 total_ns;
	__u64 runnable_ns; /* part of total_ns from the wakeup on */
	__u64 longest_ns;
};

/* A user-space lock that may be new: the loader identifies it while the process is alive. */
struct lock_news {
	__u64 addr;
	__u32 tgid;
	__u32 generation;
	__u64 is_private;
};

#define LOCK_SPINS 4 /* maximum nesting: the thread, and each nested interrupt */

/* A spinning wait. */
struct lock_spin {
	__u64 addr, began_ns;
	__u32 kind, unused;
};

/* Lock waits of one CPU. */
struct lock_cpu {
	__u32 n_inside; /* number of our programs on this CPU that hold locks */
	__u32 n_spins;
	struct lock_spin spins[LOCK_SPINS];
};

struct lock_settings {
	bool kernel;	/* count waits for the kernel's locks, too */
	bool has_turns; /* two count tables alternate; false: only the first is used */
};

#endif
