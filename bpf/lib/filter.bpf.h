/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The target filter of all tools. A test that is off is dead code and costs nothing. filter_task()
 * tests its argument (the task that waits, faults or is sampled), which need not be the current
 * task.
 */
#ifndef FILTER_BPF_H
#define FILTER_BPF_H

#include "lib/compat.bpf.h"
#include "lib/loss.bpf.h"
#include "abi/filter.h"
#include "lib/maps.bpf.h"

#define FILTER_MAX_IDS	  16384
#define FILTER_MAX_LEVELS 32 /* levels of cgroups searched; pid namespaces nest no deeper */

const volatile struct filter_settings filter SEC(".rodata.filter");

/* Id of the traced cgroup. The loader changes it when a restarted service gets a new cgroup. */
__u64 filter_cgroup_id SEC(".data.filter") = 0;

MAP_HASH(filter_tgids, __u32, __u8, FILTER_MAX_IDS);
MAP_HASH(filter_tids, __u32, __u8, FILTER_MAX_IDS);

/* Maps pids in the initial namespace to pids in the caller's. */
MAP_HASH(filter_pids, __u32, __u32, FILTER_MAX_IDS);

/* Returns the pid's number in the caller's pid namespace; 0 if it isn't visible there. */
static __always_inline __u32 pid_in_namespace(struct pid *pid)
{
	__u32 level = BPF_CORE_READ(pid, level);
	struct upid upid;

	for (__u32 i = 0; i < FILTER_MAX_LEVELS && i <= level; i++) {
		if (bpf_core_read(&upid, sizeof(upid), &pid->numbers[i]))
			return 0;
		if (BPF_CORE_READ(upid.ns, ns.inum) == filter.pidns_inum)
			return upid.nr;
	}
	return 0;
}

/* Returns the task's id in the caller's pid namespace. */
static __always_inline __u32 task_tid(struct task_struct *task)
{
	if (filter.pidns_inum)
		return pid_in_namespace(BPF_CORE_READ(task, thread_pid));
	return TASK_READ(task, pid);
}

static __always_inline __u32 task_tgid(struct task_struct *task)
{
	if (filter.pidns_inum)
		return pid_in_namespace(BPF_CORE_READ(task, group_leader, thread_pid));
	return TASK_READ(task, tgid);
}

static __always_inline __u32 current_tgid(void)
{
	struct task_struct *task = (void *)bpf_get_current_task();

	if (filter.pidns_inum)
		return pid_in_namespace(BPF_CORE_READ(task, group_leader, thread_pid));
	return bpf_get_current_pid_tgid() >> 32;
}

static __always_inline bool task_is_leader(struct task_struct *task)
{
	return TASK_READ(task, pid) == TASK_READ(task, tgid);
}

static __always_inline bool task_is_idle(struct task_struct *task)
{
	return TASK_READ(task, pid) == 0;
}

static __always_inline bool task_is_kthread(struct task_struct *task)
{
	return flags_are_kthreads(TASK_READ(task, flags));
}

static __always_inline void task_comm(struct task_struct *task, char comm[TASK_COMM_LEN])
{
	BPF_CORE_READ_INTO((char(*)[TASK_COMM_LEN])comm, task, comm);
}

static __always_inline bool filter_comm(struct task_struct *task)
{
	char comm[TASK_COMM_LEN] = {};

	task_comm(task, comm);
	for (int i = 0; i < TASK_COMM_LEN; i++) {
		if (comm[i] != filter.comm[i])
			return false;
		if (!comm[i])
			break;
	}
	return true;
}

static __always_inline bool filter_cgroup(struct cgroup *cgrp)
{
	int level = BPF_CORE_READ(cgrp, level);
	__u64 id = filter_cgroup_id;

	for (int i = 0; i < FILTER_MAX_LEVELS && i <= level; i++)
		if (cgroup_ancestor_id(cgrp, i) == id)
			return true;
	return false;
}

/* Returns the id of the task's cgroup (v2). */
static __always_inline __u64 task_cgroup(struct task_struct *task)
{
	return BPF_CORE_READ(task, cgroups, dfl_cgrp, kn, id);
}

/* Returns true if one of these tests (enum filter_test) is on. */
static __always_inline bool filter_has(__u32 tests)
{
	return filter.tests & tests;
}

/* Returns true if threads of the process may be traced. */
static __always_inline bool filter_tgid(__u32 tgid)
{
	if (filter_has(FILTER_TGID) && tgid != filter.tgid)
		return false;
	return !filter_has(FILTER_TGIDS) || bpf_map_lookup_elem(&filter_tgids, &tgid);
}

static __always_inline bool filter_ids(struct task_struct *task, __u32 tgid)
{
	__u32 tid;

	if (!filter_tgid(tgid))
		return false;
	if (!filter_has(FILTER_TID | FILTER_TIDS))
		return true;
	tid = task_tid(task);
	if (filter_has(FILTER_TID) && tid != filter.tid)
		return false;
	return !filter_has(FILTER_TIDS) || bpf_map_lookup_elem(&filter_tids, &tid);
}

/* Returns true if the task is traced. cgrp: cgroup to test; NULL: the task's. */
static __always_inline bool filter_task_in(struct task_struct *task, struct cgroup *cgrp)
{
	__u32 tgid = task_tgid(task);

	if (tgid == filter.self_tgid)
		return false;
	if (!filter.tests) /* fast path */
		return true;
	if (!filter_ids(task, tgid))
		return false;
	if (filter_has(FILTER_USER | FILTER_KERNEL) &&
	    task_is_kthread(task) != filter_has(FILTER_KERNEL))
		return false;
	if (filter_has(FILTER_COMM) && !filter_comm(task))
		return false;
	if (!filter_has(FILTER_CGROUP))
		return true;
	return filter_cgroup(cgrp ? cgrp : BPF_CORE_READ(task, cgroups, dfl_cgrp));
}

/* Returns true if the task is traced. */
static __always_inline bool filter_task(struct task_struct *task)
{
	return filter_task_in(task, NULL);
}

/* Adds a child of a traced process to the filter. Loaded only with --follow. */
SEC("tp_btf/sched_process_fork")
int BPF_PROG(filter_fork, struct task_struct *parent, struct task_struct *child)
{
	__u32 tgid = task_tgid(parent), child_tgid, kernels = child->tgid;
	__u8 one = 1;

	if (!bpf_map_lookup_elem(&filter_tgids, &tgid))
		return 0;
	child_tgid = task_tgid(child);
	if (child_tgid == tgid)
		return 0;
	if (bpf_map_update_elem(&filter_tgids, &child_tgid, &one, BPF_ANY))
		loss_count(LOSS_NO_ROOM, 0);
	else if (filter.pidns_inum)
		bpf_map_update_elem(&filter_pids, &kernels, &child_tgid, BPF_ANY);
	return 0;
}

/*
 * Removes a process from the filter when its first thread is reaped, since its pid may then be
 * reused. Its pid in the caller's namespace is gone by then and comes from filter_pids.
 */
SEC("tp_btf/sched_process_free")
int BPF_PROG(filter_free, struct task_struct *task)
{
	__u32 tgid = task->tgid, *seen;

	if (task->pid != task->tgid)
		return 0;
	if (!filter.pidns_inum) {
		bpf_map_delete_elem(&filter_tgids, &tgid);
		return 0;
	}
	seen = bpf_map_lookup_elem(&filter_pids, &tgid);
	if (!seen)
		return 0;
	bpf_map_delete_elem(&filter_tgids, seen);
	bpf_map_delete_elem(&filter_pids, &tgid);
	return 0;
}

#endif
