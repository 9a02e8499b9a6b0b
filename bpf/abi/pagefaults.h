/* SPDX-License-Identifier: GPL-2.0-only */
/* pagefaults' settings and counts, shared by BPF and the loader. */
#ifndef ABI_PAGEFAULTS_H
#define ABI_PAGEFAULTS_H

#include "abi/area.h"
#include "abi/filter.h"

struct pagefaults_settings {
	__u32 kinds; /* bit i: faults in areas of kind i are wanted */
	bool by_process;
	bool by_area;
	bool minor; /* with -L: record the latency of minor faults */
	bool major;
	bool has_turns; /* two count tables alternate; false: only the first is used */
};

/* Bits of a stack's remark. */
enum fault_remark {
	FAULT_IN_KERNEL = 1, /* a fault by kernel code, such as a copy to user memory */
	FAULT_MAJOR = 2,     /* the fault waited for a file or swap */
};

/* Key of the counts; unused fields are 0. */
struct fault_key {
	struct area_id area;
	__u32 tgid;
	char comm[TASK_COMM_LEN]; /* process name; empty: no pid in this pid namespace */
	__u32 padding;
};

struct fault_sum {
	__u64 minor;
	__u64 major;
	__u64 kernel;	/* faults by kernel code (copies to user memory), part of minor and major */
	__u64 is_named; /* the area's name has been sent */
};

/* Faults seen by BPF, before any filter. */
struct fault_seen {
	__u64 total;
	__u64 unknown; /* faults whose area was not found */
};

#endif
