/* SPDX-License-Identifier: GPL-2.0-only */
/* pagefaults' settings and counts, on both sides. */
#ifndef ABI_PAGEFAULTS_H
#define ABI_PAGEFAULTS_H

#include "abi/area.h"
#include "abi/filter.h"

struct pagefaults_settings {
	__u32 kinds; /* bit i: faults in areas of kind i are wanted */
	bool by_process;
	bool by_area;
	bool minor; /* of the latency: wanted; else their programs are just not there */
	bool major;
	bool has_turns; /* of two tables of counts; else the first is the only one */
};

/* A stack's remark: bits. */
enum fault_remark {
	FAULT_IN_KERNEL = 1, /* a fault of the kernel, such as that of copying to a process */
	FAULT_MAJOR = 2,     /* it had to wait for a file or swap */
};

/* Key of the counts; unused fields are 0. */
struct fault_key {
	struct area_id area;
	__u32 tgid;
	char comm[TASK_COMM_LEN]; /* of the process; empty: it has no number here */
	__u32 padding;
};

struct fault_sum {
	__u64 minor;
	__u64 major;
	__u64 kernel;	/* of both: faults of the kernel, such as those of copying to a process */
	__u64 is_named; /* the area's name has been sent */
};

/* Faults that the programs have seen, before any filter. */
struct fault_seen {
	__u64 total;
	__u64 unknown; /* their area was looked for and not found */
};

#endif
