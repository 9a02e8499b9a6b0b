/* SPDX-License-Identifier: GPL-2.0-only */
/* A wait that was longer than --slower: runqlat's record from the kernel. */
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
};

struct runqlat_slow {
	__u64 delay_ns;
	__u32 cpu;
	__u32 tid, prev_tid; /* prev: who ran before it on that CPU */
	char comm[TASK_COMM_LEN], prev_comm[TASK_COMM_LEN];
};

#endif
