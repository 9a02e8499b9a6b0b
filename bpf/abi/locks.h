/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Waits for locks, on both sides of the kernel border (offcputime --locks). They are counted by the
 * lock, by who waited for it and where, and by who ended the wait.
 */
#ifndef ABI_LOCKS_H
#define ABI_LOCKS_H

#include "abi/stack.h"

enum lock_kind {
	LOCK_FUTEX,	/* what a mutex, a condition, a semaphore, ... of a program waits by */
	LOCK_FUTEX_PI,	/* with priority inheritance */
	LOCK_FUTEX_ANY, /* the first of several: futex_waitv() */
	LOCK_MUTEX,	/* from here on, those of the kernel */
	LOCK_RWSEM,
	LOCK_PERCPU_RWSEM,
	LOCK_RTMUTEX,
	LOCK_SEMAPHORE,
	LOCK_SPIN,
	LOCK_RWLOCK, /* likewise waited for on the CPU */
	LOCK_KINDS,
};

static inline bool lock_is_kernels(__u32 kind)
{
	return kind >= LOCK_MUTEX;
}

/* How a wait ended. */
enum lock_end {
	LOCK_END_UNSEEN,   /* nobody woke the thread up: it spun, or waits still */
	LOCK_END_RELEASED, /* by the waker */
	LOCK_END_GIVEN_UP, /* by a timeout, a signal or the end of the process */
};

struct lock_key {
	struct stack_key stack; /* of who waited */
	__u64 addr;
	char waker_comm[TASK_COMM_LEN];
	__u32 waker_tgid;
	__u32 generation; /* of the program that has the address; 0: the kernel */
	__u8 kind;	  /* enum lock_kind */
	__u8 end;	  /* enum lock_end */
	__u8 is_private;  /* of one process, even in memory that several share */
	__u8 padding[5];
};

struct lock_sum {
	__u64 count;
	__u64 total_ns;
	__u64 runnable_ns; /* of total_ns: from the wake-up on */
	__u64 longest_ns;
};

/* A lock of a program that may be new: the loader finds out what it is while that is there. */
struct lock_news {
	__u64 addr;
	__u32 tgid;
	__u32 generation;
	__u64 is_private;
};

#define LOCK_SPINS 4 /* in a thread, and in the interrupts that come upon each other */

/* A wait on the CPU. */
struct lock_spin {
	__u64 addr, began_ns;
	__u32 kind, unused;
};

/* State of a CPU. */
struct lock_cpu {
	__u32 n_inside; /* programs that hold locks of ours */
	__u32 n_spins;
	__u64 n_skipped; /* waits that ended meanwhile */
	struct lock_spin spins[LOCK_SPINS];
};

struct lock_settings {
	bool wanted;
	bool kernel;	/* those of the kernel, too */
	bool has_turns; /* of two tables of counts; else the first is the only one */
};

#endif
