/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by runqlat's two sides: the grouping of waits, and its records. */
#ifndef ABI_RUNQLAT_H
#define ABI_RUNQLAT_H

#include "abi/filter.h"

enum runqlat_key {
	BY_NOTHING,
	BY_PROCESS,
	BY_THREAD,
	BY_PIDNS,
	BY_CPU,
	BY_CGROUP,
	BY_CAUSE,
};

/* Keys of histograms by cause. */
enum runqlat_cause {
	CAUSE_OTHER, /* the CPU had other work, or had to wake up */
	CAUSE_QUOTA, /* for a part of the wait at least, a quota was used up */
};

/* A wait of at least the duration given to --slower. */
struct runqlat_slow {
	__u64 delay_ns;
	__u32 cpu;
	__u32 tid, prev_tid; /* prev: who ran before it on that CPU */
	char comm[TASK_COMM_LEN], prev_comm[TASK_COMM_LEN];
};

#endif
