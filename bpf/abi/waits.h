/* SPDX-License-Identifier: GPL-2.0-only */
/* Waits of threads: settings and records of bpf/sched/waits.bpf.h, shared with the loader. */
#ifndef ABI_WAITS_H
#define ABI_WAITS_H

#include "abi/kernel_rule.h"
#include "abi/types.h"
#include "abi/unwind_layout.h"

/* Letters by index: runnable, then one per state bit from the lowest on, then idle. */
#define STATE_LETTERS	    "RSDTtXZPI"
#define STATE_INTERRUPTIBLE 1
#define STATE_IDLE	    8

/* Bits of a stack's remark. */
enum wait_remark {
	WAIT_AT_START = 1,  /* blocked when tracing began */
	WAIT_AT_END = 2,    /* still blocked when tracing ended */
	WAIT_THROTTLED = 4, /* caused by a CPU quota; only with wait_settings.throttled */

	/* Not waits: time on CPU, counted only with wait_settings.on_cpu. */
	RUN_TIME = 8,	  /* the thread's time on CPU, without a stack */
	RUN_SAMPLED = 16, /* samples on CPU: value is their total period, part their number */
};

enum wait_part {
	PART_ALL,
	PART_BLOCKED,
	PART_RUNNABLE,
};

struct wait_settings {
	__u64 min_ns, max_ns;
	__u32 part;	  /* enum wait_part */
	__u32 states;	  /* bit i: waits in the state of letter i are wanted */
	__u32 state_mask; /* bits of the kernel states that are wanted; 0: any */
	bool waker;
	bool on_cpu;	  /* count time on CPU, too */
	bool throttled;	  /* count separately the part of waits for a CPU that quotas cause */
	bool delays;	  /* record waits for a CPU in a histogram */
	bool has_windows; /* time has several windows, each of which counts its part of a wait */
};

/* Set by the loader before it runs the task iterator. */
struct wait_window {
	__u64 start_ns; /* time of the latest visit without an end_ns */
	__u64 end_ns;	/* end of the window; 0: tracing begins, or goes on with more threads */
	__u64 is_peek;	/* only on-CPU time is cut at end_ns; waits are not */
	__u64 is_last;	/* the last window: tracing has ended */
	__u64 n_begun;	/* number of visits without an end_ns so far; 1: tracing begins */
	__u64 seen_ns;	/* time of the visit without an end_ns before this one; 0: none */
};

#endif
