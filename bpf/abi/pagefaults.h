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
	bool minor; /* latency histograms are wanted; else their programs are not loaded */
	bool major;
	bool has_turns; /* two tables of counts alternate; else the first is the only one */
};

/* A stack's remark: bits. */
enum fault_remark {
	FAULT_IN_KERNEL = 1, /* a fault by kernel code, such as a copy to user memory */
	FAULT_MAJOR = 2,     /* it waited for a file or swap */
};

/* Key of the counts; unused fields are 0. */
struct fault_key {
	struct area_id area;
	__u32 tgid;
	char comm[TASK_COMM_LEN]; /* name of the process; empty: it has no pid in this namespace */
	__u32 padding;
};

struct fault_sum {
	__u64 minor;
	__u64 major;
	__u64 kernel;	/* part of both: faults by kernel code, such as copies to user memory */
	__u64 is_named; /* the area's name has been sent */
};

/* Faults that the programs have seen, before any filter. */
struct fault_seen {
	__u64 total;
	__u64 unknown; /* their area was searched for and not found */
};

#endif
