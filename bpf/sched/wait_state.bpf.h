/* SPDX-License-Identifier: GPL-2.0-only */
/* State of a waiting thread, and a wait that is being counted. */
#ifndef WAIT_STATE_BPF_H
#define WAIT_STATE_BPF_H

#include "abi/stack.h"
#include "abi/waits.h"
#include "sched/throttle.bpf.h"

/* WAITS_PER_LOCK: defined by a program that counts only waits for locks, per lock. */
#ifdef WAITS_PER_LOCK
#include "sched/futex.bpf.h"

#define COUNTS_RUNS	 false
#define COUNTS_THROTTLED false
#define delay_record(state, now_ns)

struct lock_state {
	struct lock_wait wait;
	__u64 began_ns; /* start of a wait for a kernel lock */
};
#else
#define COUNTS_RUNS	 wait_settings.on_cpu
#define COUNTS_THROTTLED wait_settings.throttled
#define TASK_STATE_HAS_END

#include "lib/hist_all.bpf.h"

/* Empty: takes no space. */
struct lock_state {
};
#endif

struct task_state {
	__u64 off_ns;  /* switch-out time; 0: on CPU, or not traced */
	__u64 cut_ns;  /* end of the last window that counted a wait */
	__u64 wake_ns; /* time at which the task became runnable; 0: still blocked */
	__u64 user_id; /* stack id at switch-out */
	__u64 waker_id;
	__u64 waking_id;	/* current waker, perhaps before the switch-out */
	__u64 switches;		/* count of switches at switch-out; unchanged until the task runs */
	__u64 on_ns;		/* switch-in time; 0: off CPU, or unknown */
	__u64 ran_ns;		/* time on CPU not counted yet, up to the last switch-out */
	__u64 cgroup_id;	/* cgroup of ran_ns, if counts are per cgroup; 0: none yet */
	__u32 ran_tid;		/* thread id of ran_ns, if counts are per thread; 0: none yet */
	__u8 letter;		/* letter of its state, as in ps; 0: stopped by the tool */
	bool at_start;		/* off CPU since before tracing began */
	struct lock_state lock; /* lock for which the thread waits */
	struct throttle_mark throttle;
};

#include "sched/task_state.bpf.h"

const volatile struct wait_settings wait_settings SEC(".rodata.waits") = {
	.max_ns = ~0ULL,
	.states = ~0U,
};

#ifndef WAITS_PER_LOCK
/* Records how long a thread that gets a CPU has waited for it. */
static __always_inline void delay_record(const struct task_state *state, __u64 now_ns)
{
	if (wait_settings.delays && state->wake_ns && state->wake_ns < now_ns)
		hist_record(now_ns - state->wake_ns);
}
#endif

/*
 * A wait that is being counted: copied from the thread's state, which is updated before the wait is
 * counted. So no pointer to the state is needed while counting, and the verifier checks counting
 * once, not for each kind of memory that holds states.
 */
struct wait {
	struct stack_key key;
	__u64 ns, runnable_ns;
	struct lock_state lock;
	struct throttle_mark throttle;
};

#endif
