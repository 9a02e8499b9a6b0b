/* SPDX-License-Identifier: GPL-2.0-only */
/* Selection of traced tasks: filled by modules/target.c before load, tested by filter.bpf.h. */
#ifndef ABI_FILTER_H
#define ABI_FILTER_H

#include "abi/types.h"

#define TASK_COMM_LEN 16

/* The tests that a task must pass. */
enum filter_test {
	FILTER_TGID = 1 << 0,	/* tgid is filter_settings.tgid */
	FILTER_TGIDS = 1 << 1,	/* tgid is in the map filter_tgids */
	FILTER_TID = 1 << 2,	/* tid is filter_settings.tid */
	FILTER_TIDS = 1 << 3,	/* tid is in the map filter_tids */
	FILTER_USER = 1 << 4,	/* task is not a kernel thread */
	FILTER_KERNEL = 1 << 5, /* task is a kernel thread */
	FILTER_COMM = 1 << 6,	/* comm is filter_settings.comm */
	FILTER_CGROUP = 1 << 7, /* cgroup is filter_cgroup_id or a descendant of it */

	/* tests with one result for all threads of a process */
	FILTER_OF_PROCESS = FILTER_TGID | FILTER_TGIDS,
	/* tests whose result may change during a task's life */
	FILTER_CHANGES = FILTER_COMM | FILTER_CGROUP,
};

struct filter_settings {
	__u32 tests;	  /* enum filter_test; 0: everything is traced */
	__u32 self_tgid;  /* the tracer, which never traces itself */
	__u32 pidns_inum; /* the caller's pid namespace; 0: the initial one */
	__u32 tgid, tid;
	bool follow; /* add children of processes in the map filter_tgids to the map */
	char comm[TASK_COMM_LEN];
};

#endif
