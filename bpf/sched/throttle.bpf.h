/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Measures the part of a wait for a CPU that a CPU quota causes: cpu.max of cgroups, in version 1
 * cpu.cfs_quota_us (kernel/sched/fair.c, CFS bandwidth). A group that has used up its quota is
 * throttled, CPU by CPU, until its next period.
 *
 * Since 6.18 the kernel dequeues a thread that is about to return to user space, and sets a flag in
 * it. Before, it dequeues the group's run queue, with all threads that wait in it. Neither has a
 * tracepoint at the end, but each queue has the total time for which it or an ancestor was
 * throttled: the growth of this total during a wait is the throttled part.
 *
 * The queue's clock is the kernel's own, in nanoseconds, so the parts' total is that of cpu.stat.
 * From 5.19 to 6.5 the only total uses a clock that is late on slow CPUs.
 *
 * For programs that get tasks as typed arguments.
 */
#ifndef THROTTLE_BPF_H
#define THROTTLE_BPF_H

#include "lib/compat.bpf.h"

#define MAX_RT_PRIO 100 /* quotas apply to this priority and above */

/* Throttling of a wait in progress. */
struct throttle_mark {
	__u64 queue;	 /* address of the task's run queue; 0: no quota applies */
	__u64 before_ns; /* total throttled time of the queue at the start */
	__u64 part_ns;	 /* throttled time in the task's previous queues */
	__u64 lag_ns;	 /* lag of the queue's clock, which stops while its CPU is idle */
};

/* Returns false without CONFIG_CFS_BANDWIDTH. */
static __always_inline bool throttle_exists(void)
{
	return bpf_core_field_exists(((struct cfs_rq *)0)->throttle_count);
}

static __always_inline bool throttle_is_by_task(void)
{
	return bpf_core_field_exists(((struct task_struct___since6_18 *)0)->throttled);
}

/* Reads a field of an object that is typed for the verifier (is_typed), or just an address. */
#define THROTTLE_READ(from, field) (is_typed ? (from)->field : BPF_CORE_READ(from, field))

/* Returns a total including the current throttling, if any. */
static __always_inline __u64 throttle_sum(__u64 sum_ns, bool is_throttled, __u64 now_ns,
					  __u64 since_ns)
{
	return is_throttled && now_ns > since_ns ? sum_ns + (now_ns - since_ns) : sum_ns;
}

/*
 * Returns the clock that the totals use. It is the clock of tasks before 5.19 (commit
 * 64eaf50731ac), then that of their load, and since 6.6 (commit 677ea015f231, throttled_clock_self)
 * that of the run queue.
 */
static __always_inline __u64 throttle_clock(struct cfs_rq *queue, const bool is_typed)
{
	struct cfs_rq___before5_19 *old = (void *)queue;
	struct rq *rq = THROTTLE_READ(queue, rq);

	if (bpf_core_field_exists(queue->throttled_clock_self))
		return THROTTLE_READ(rq, clock);
	if (bpf_core_field_exists(old->throttled_clock_task))
		return THROTTLE_READ(rq, clock_task);
	return THROTTLE_READ(rq, clock_pelt) - THROTTLE_READ(rq, lost_idle_time);
}

/* Returns the queue's total throttled time in ns, at now_ns by its clock. */
static __always_inline __u64 throttle_queue_ns(struct cfs_rq *queue, __u64 now_ns,
					       const bool is_typed)
{
	struct cfs_rq___before5_19 *old = (void *)queue;
	struct cfs_rq___since5_19 *new = (void *)queue;
	bool is_throttled = THROTTLE_READ(queue, throttle_count) > 0;
	__u64 since_ns;

	if (bpf_core_field_exists(queue->throttled_clock_self)) {
		since_ns = THROTTLE_READ(queue, throttled_clock_self);
		return throttle_sum(THROTTLE_READ(queue, throttled_clock_self_time), since_ns,
				    now_ns, since_ns);
	}
	if (bpf_core_field_exists(old->throttled_clock_task))
		return throttle_sum(THROTTLE_READ(old, throttled_clock_task_time), is_throttled,
				    now_ns, THROTTLE_READ(old, throttled_clock_task));
	return throttle_sum(THROTTLE_READ(new, throttled_clock_pelt_time), is_throttled, now_ns,
			    THROTTLE_READ(new, throttled_clock_pelt));
}

/* Returns true if a quota may delay the task in the wait that begins now. */
static __always_inline bool throttle_can_hold(struct task_struct *task)
{
	struct task_struct___since6_18 *new = (void *)task;

	if (throttle_is_by_task())
		return new->throttled;
	return task->prio >= MAX_RT_PRIO;
}

/* Clears the state: no wait. */
static __always_inline void throttle_clear(struct throttle_mark *mark)
{
	mark->queue = 0;
	mark->part_ns = 0;
}

/* Starts measuring a wait in a queue. */
static __always_inline void throttle_enter(struct throttle_mark *mark, struct cfs_rq *queue,
					   const bool is_typed)
{
	__u64 clock_ns = throttle_clock(queue, is_typed);

	mark->queue = (__u64)queue;
	mark->before_ns = throttle_queue_ns(queue, clock_ns, is_typed);
	mark->lag_ns = bpf_ktime_get_ns() - clock_ns;
}

/* Starts measuring a wait: the task is on a run queue, or a quota has just dequeued it. */
static __always_inline void throttle_begin(struct task_struct *task, struct throttle_mark *mark)
{
	throttle_clear(mark);
	if (throttle_exists() && throttle_can_hold(task))
		throttle_enter(mark, task->se.cfs_rq, true);
}

/* Adds the throttled time of the task's queue up to now. */
static __always_inline void throttle_add(struct task_struct *task, struct throttle_mark *mark)
{
	struct cfs_rq *queue;
	__u64 ns;

	if (!throttle_exists() || !mark->queue)
		return;
	queue = task->se.cfs_rq;
	if ((__u64)queue != mark->queue) /* the task was moved to another group */
		return;
	ns = throttle_queue_ns(queue, bpf_ktime_get_ns() - mark->lag_ns, true);
	if (ns <= mark->before_ns)
		return;
	mark->part_ns += ns - mark->before_ns;
	mark->before_ns = ns;
}

/*
 * Handles sched_migrate_task: a waiting task moves to another CPU. Since 6.18 it can't be throttled
 * there before it has run.
 */
static __always_inline void throttle_move(struct task_struct *task, struct throttle_mark *mark,
					  int cpu)
{
	struct task_group___before6_18 *group;
	struct cfs_rq **queues, *queue = NULL;

	if (!throttle_exists() || !mark->queue)
		return;
	throttle_add(task, mark);
	mark->queue = 0;
	if (throttle_is_by_task())
		return;
	group = (void *)task->sched_task_group;
	queues = group->cfs_rq;
	if (bpf_probe_read_kernel(&queue, sizeof(queue), &queues[cpu]))
		return;
	throttle_enter(mark, queue, false);
}

/*
 * Returns the part of a wait of wait_ns that a quota caused, less what was returned before; 0:
 * none. Called at the end of a wait or of a window.
 */
static __always_inline __u64 throttle_take(struct task_struct *task, struct throttle_mark *mark,
					   __u64 wait_ns)
{
	__u64 part_ns;

	throttle_add(task, mark);
	part_ns = mark->part_ns;
	mark->part_ns = 0;
	return part_ns < wait_ns ? part_ns : wait_ns;
}

#endif
