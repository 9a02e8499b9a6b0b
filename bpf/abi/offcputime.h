/* SPDX-License-Identifier: GPL-2.0-only */
/* offcputime's settings and records, on both sides. */
#ifndef ABI_OFFCPUTIME_H
#define ABI_OFFCPUTIME_H

#include "abi/kernel_rule.h"
#include "abi/types.h"
#include "abi/unwind_layout.h"

/* Letters by index: runnable, then one per state bit from the lowest on, then idle. */
#define STATE_LETTERS "RSDTtXZPI"
#define STATE_IDLE    8

/* A stack's remark: bits. */
enum offcputime_remark {
	WAIT_AT_START = 1, /* blocked when tracing began */
	WAIT_AT_END = 2,   /* still blocked when it ended */
};

enum offcputime_part {
	PART_ALL,
	PART_BLOCKED,
	PART_RUNNABLE,
};

struct offcputime_settings {
	__u64 min_ns, max_ns;
	__u32 part;	  /* enum offcputime_part */
	__u32 states;	  /* bit i: waits in the state of letter i are wanted */
	__u32 state_mask; /* and only those in one of these kernel states, unless 0 */
	bool waker;
};

/* Set by the loader before it runs the task iterator. */
struct offcputime_window {
	__u64 start_ns;
	__u64 end_ns; /* 0: the window begins */
};

#endif
