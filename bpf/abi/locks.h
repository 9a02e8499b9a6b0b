/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Waits for locks, shared by BPF and the loader. They are counted per lock, waiter, stack and
 * waker.
 */
#ifndef ABI_LOCKS_H
#define ABI_LOCKS_H

#include "abi/stack.h"

enum lock_kind {
	LOCK_FUTEX,	/* a futex: used by a program's mutex, condition variable, semaphore, ... */
	LOCK_FUTEX_PI,	/* with priority inheritance */
	LOCK_FUTEX_ANY, /* the first of several: futex_waitv() */
	LOCK_MUTEX,	/* kernel locks from here on */
	LOCK_RWSEM,
	LOCK_PERCPU_RWSEM,
	LOCK_RTMUTEX,
	LOCK_SEMAPHORE,
	LOCK_SPIN,
	LOCK_RWLOCK, /* also spun for on the CPU */
	LOCK_KINDS,
};

static inline bool lock_is_kernels(__u32 kind)
{
	return kind >= LOCK_MUTEX;
}

/* How a wait ended. */
enum lock_end {
	LOCK_END_UNSEEN,   /* no waker: the thread spun, or still waits */
	LOCK_END_RELEASED, /* by the waker */
	LOCK_END_GIVEN_UP, /* by a timeout, a signal or the end of the process */
};

/* A lock, and how a wait for it ended. */
struct lock_wait {
	__u64 addr; /* 0: no lock */
	char waker_comm[TASK_COMM_LEN];
	__u32 waker_tgid;
	__u32 generation; /* of the program that has the address (exec count); 0: the kernel */
	__u8 kind;	  /* enum lock_kind */
	__u8 end;	  /* enum lock_end */
	__u8 is_private;  /* private to one process, even in shared memory */
	__u8 padding[5];
};

struct lock_key {
	struct stack_key stack; /* of the waiter */
	struct lock_wait lock;
};

struct lock_sum {
	__u64 count;
	__u64 total_ns;
	__u64 runnable_ns; /* of total_ns: from the wake-up on */
	__u64 longest_ns;
};

/* A program's lock that may be new: the loader identifies it while the process is alive. */
struct lock_news {
	__u64 addr;
	__u32 tgid;
	__u32 generation;
	__u64 is_private;
};

#define LOCK_SPINS 4 /* nested: one level for the thread, one for each nested interrupt */

/* A wait on the CPU. */
struct lock_spin {
	__u64 addr, began_ns;
	__u32 kind, unused;
};

/* State of a CPU. */
struct lock_cpu {
	__u32 n_inside; /* number of our programs on this CPU that hold locks */
	__u32 n_spins;
	struct lock_spin spins[LOCK_SPINS];
};

struct lock_settings {
	bool kernel;	/* also count waits for the kernel's locks */
	bool has_turns; /* two tables of counts alternate; else the first is the only one */
};

#endif
