/* SPDX-License-Identifier: GPL-2.0-only */
/* runqlat's grouping of waits and its records, shared by BPF and the loader. */
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
	CAUSE_OTHER, /* the CPU ran another task, or had to wake up */
	CAUSE_QUOTA, /* a CPU quota was used up for at least a part of the wait */
};

/* A wait of at least the duration given to --slower. */
struct runqlat_slow {
	__u64 delay_ns;
	__u32 cpu;
	__u32 tid, prev_tid; /* prev_tid: task that ran before tid on that CPU */
	char comm[TASK_COMM_LEN], prev_comm[TASK_COMM_LEN];
};

#endif
