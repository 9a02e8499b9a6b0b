/* SPDX-License-Identifier: GPL-2.0-only */
/* State of a waiting thread, and of a wait on its way into the counts. */
#ifndef WAIT_STATE_BPF_H
#define WAIT_STATE_BPF_H

#include "abi/stack.h"
#include "abi/waits.h"
#include "sched/throttle.bpf.h"

/* A program that counts only waits for locks, per lock, defines WAITS_PER_LOCK. */
#ifdef WAITS_PER_LOCK
#include "sched/futex.bpf.h"

#define COUNTS_RUNS	 false
#define COUNTS_THROTTLED false

struct lock_state {
	struct lock_wait wait;
	__u64 began_ns; /* beginning of a wait for a kernel lock */
};
#else
#define COUNTS_RUNS	 wait_settings.on_cpu
#define COUNTS_THROTTLED wait_settings.throttled
#define TASK_STATE_HAS_END

/* Empty: takes no space. */
struct lock_state {
};
#endif

struct task_state {
	__u64 off_ns;  /* when it was switched out; 0: on CPU, or not traced */
	__u64 cut_ns;  /* end of the last window that counted a wait */
	__u64 wake_ns; /* when it became runnable again; 0: not yet */
	__u64 user_id; /* stack ids */
	__u64 waker_id;
	__u64 waking_id;	/* its current waker, perhaps before it is switched out */
	__u64 switches;		/* context switches at that time: equal until the next switch-out */
	__u64 on_ns;		/* when it got its CPU; 0: it has none, or that is unknown */
	__u64 ran_ns;		/* time on CPU that isn't counted yet, up to the last switch-out */
	__u8 letter;		/* its state, as ps shows it; 0: stopped by the tool */
	bool at_start;		/* it was off CPU before tracing began */
	struct lock_state lock; /* the lock that it waits for */
	struct throttle_mark throttle;
};

#include "sched/task_state.bpf.h"

const volatile struct wait_settings wait_settings SEC(".rodata.waits") = {
	.max_ns = ~0ULL,
	.states = ~0U,
};

/*
 * A wait as it is counted. It is taken from the thread's state first, which is changed next; then
 * it is counted. So the state is not held meanwhile, and the verifier goes through counting once,
 * and not for each kind of memory that states lie in.
 */
struct wait {
	struct stack_key key;
	__u64 ns, runnable_ns;
	struct lock_state lock;
	struct throttle_mark throttle;
};

#endif
