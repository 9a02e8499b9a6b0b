/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The target filter of all tools. A test that is off is dead code for the verifier and costs
 * nothing. filter_task() tests the task it is given, which is the one that waits, faults or is
 * sampled, not the task that happens to be current.
 */
#ifndef FILTER_BPF_H
#define FILTER_BPF_H

#include "lib/compat.bpf.h"
#include "lib/loss.bpf.h"
#include "abi/filter.h"

#define FILTER_MAX_IDS	  16384
#define FILTER_MAX_LEVELS 32 /* of cgroups that are searched; pid namespaces nest no deeper */

const volatile struct filter_settings filter SEC(".rodata.filter");

/* The loader changes it when a service is restarted and gets a new cgroup. */
__u64 filter_cgroup_id SEC(".data.filter") = 0;

#define FILTER_SET(name, key_type, value_type)       \
	struct {                                     \
		__uint(type, BPF_MAP_TYPE_HASH);     \
		__uint(max_entries, FILTER_MAX_IDS); \
		__type(key, key_type);               \
		__type(value, value_type);           \
	} name SEC(".maps")

FILTER_SET(filter_tgids, __u32, __u8);
FILTER_SET(filter_pids, __u32, __u32); /* ids in the initial pid namespace, and in the caller's */
FILTER_SET(filter_tids, __u32, __u8);

/* Returns the id that a pid has in the caller's pid namespace; 0 if it isn't visible there. */
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

/* Ids as the caller sees them: its own pid namespace's. */
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

/* Returns true if threads of that process may be traced. */
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

/* Returns true if the task is to be traced. cgrp: tested in place of its own; NULL: its own. */
static __always_inline bool filter_task_in(struct task_struct *task, struct cgroup *cgrp)
{
	__u32 tgid = task_tgid(task);

	if (tgid == filter.self_tgid)
		return false;
	if (!filter.tests) /* skips the tests below */
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

/* Returns true if the task is to be traced. */
static __always_inline bool filter_task(struct task_struct *task)
{
	return filter_task_in(task, NULL);
}

/* --follow: a child of a traced process is traced. Loaded only with that option. */
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
 * A pid can be used again once the process's first thread has been reaped. It has no pid in a
 * namespace any more then.
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
