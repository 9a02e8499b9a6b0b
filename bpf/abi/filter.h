/* SPDX-License-Identifier: GPL-2.0-only */
/* Which tasks are traced: filled by modules/target.c before load, tested by filter.bpf.h. */
#ifndef ABI_FILTER_H
#define ABI_FILTER_H

#include "abi/types.h"

#define TASK_COMM_LEN 16

enum filter_threads {
	THREADS_ALL,
	THREADS_USER,
	THREADS_KERNEL,
};

struct filter_settings {
	__u32 self_tgid;  /* the tracer, which never traces itself */
	bool is_off;	  /* the settings below are unused */
	__u32 pidns_inum; /* the caller's pid namespace; 0: the initial one */
	__u32 tgid;	  /* the only process wanted; 0: any */
	__u32 tid;	  /* the only thread wanted; 0: any */
	__u32 threads;	  /* enum filter_threads */
	bool by_tgids;	  /* processes in the map filter_tgids */
	bool by_tids;	  /* threads in the map filter_tids */
	bool follow;	  /* children of those processes join them */
	bool by_comm;
	bool by_cgroup;	 /* filter_cgroup_id, with all its descendants */
	bool by_cgroups; /* cgroup ids in the map filter_cgroups */
	char comm[TASK_COMM_LEN];
};

#endif
