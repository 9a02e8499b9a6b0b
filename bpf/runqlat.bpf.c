// SPDX-License-Identifier: GPL-2.0-only
/*
 * Run queue latency: from the moment a task becomes runnable (woken up, forked, or preempted) to
 * the moment it gets a CPU. The filter tests the waiting task when its wait begins.
 */
#include "abi/runqlat.h"
#include "lib/hist.bpf.h"
#include "lib/filter.bpf.h"
#include "lib/maps.bpf.h"
#include "sched/throttle.bpf.h"

struct task_state {
	__u64 queued_ns; /* start of the wait; 0: not waiting, or not traced */
	__u64 arrivals;	 /* task_arrivals() at the start of the wait */
	struct throttle_mark throttle;
};

#include "sched/task_state.bpf.h"

const volatile __u32 hist_by = BY_NOTHING;
const volatile __u64 slower_ns = 0; /* minimum wait to report, instead of counting */

MAP_RINGBUF(slow_waits, 1 << 20);

MAP_ARRAY(throttled_ns, __u64, 1); /* total of waits caused by quotas */

/* Does nothing: waits that began before tracing are not counted. */
static void task_visit(struct bpf_iter__task *ctx, struct task_struct *task,
		       struct task_state *state)
{
}

/* Returns the innermost pid namespace that the task is in. */
static __always_inline __u64 task_pidns(struct task_struct *task)
{
	struct pid *pid = BPF_CORE_READ(task, thread_pid);
	__u32 level = BPF_CORE_READ(pid, level);
	struct upid upid = {};

	bpf_core_read(&upid, sizeof(upid), &pid->numbers[level]);
	return BPF_CORE_READ(upid.ns, ns.inum);
}

/* Adds to the total the part of a wait that a quota caused. Returns the cause of the wait. */
static __always_inline __u64 wait_cause(struct task_struct *task, struct task_state *state,
					__u64 delay_ns)
{
	__u64 part_ns = throttle_take(task, &state->throttle, delay_ns);
	__u64 *sum_ns;
	__u32 zero = 0;

	if (!part_ns)
		return CAUSE_OTHER;
	sum_ns = bpf_map_lookup_elem(&throttled_ns, &zero);
	if (sum_ns)
		__sync_fetch_and_add(sum_ns, part_ns);
	return CAUSE_QUOTA;
}

/* Returns the wait's histogram key. */
static __always_inline __u64 wait_key(struct task_struct *task, struct task_state *state,
				      __u64 delay_ns)
{
	switch (hist_by) {
	case BY_CAUSE:
		return wait_cause(task, state, delay_ns);
	case BY_PROCESS:
		return task_tgid(task);
	case BY_THREAD:
		return task_tid(task);
	case BY_PIDNS:
		return task_pidns(task);
	case BY_CPU:
		return bpf_get_smp_processor_id();
	default:
		return task_cgroup(task);
	}
}

/* Sends a record of a wait. prev: the CPU's previous task, NULL if unknown. */
static __always_inline void report_slow(struct task_struct *task, struct task_struct *prev,
					__u64 delay_ns)
{
	struct runqlat_slow *slow = bpf_ringbuf_reserve(&slow_waits, sizeof(*slow), 0);

	if (!slow) {
		loss_count(LOSS_RING_FULL, delay_ns);
		return;
	}
	slow->delay_ns = delay_ns;
	slow->cpu = bpf_get_smp_processor_id();
	slow->tid = task_tid(task);
	slow->prev_tid = prev ? task_tid(prev) : 0;
	task_comm(task, slow->comm);
	slow->prev_comm[0] = '\0';
	if (prev)
		task_comm(prev, slow->prev_comm);
	bpf_ringbuf_submit(slow, 0);
}

static __noinline void wait_count(struct task_struct *task, struct task_struct *prev,
				  struct task_state *state, __u64 delay_ns)
{
	if (slower_ns && delay_ns >= slower_ns)
		report_slow(task, prev, delay_ns);
	else if (!slower_ns && hist_by)
		hist_record_by_key(delay_ns, wait_key(task, state, delay_ns),
				   hist_by == BY_PROCESS ? task->group_leader->comm : task->comm);
	else if (!slower_ns)
		hist_record(delay_ns);
}

static __always_inline void wait_end(struct task_struct *task, struct task_struct *prev)
{
	struct task_state *state = task_state_find(task);

	if (!state || !state->queued_ns)
		return;
	wait_count(task, prev, state, bpf_ktime_get_ns() - state->queued_ns);
	state->queued_ns = 0;
}

/*
 * Ends a wait whose end had no event, by task_arrival_ns(). Ignores it if the task got no CPU
 * since: a thread that is woken up before it leaves its CPU doesn't wait. Comparing times doesn't
 * detect this: at a switch that a wakeup requested, the scheduler doesn't read its clock again, so
 * a wait may seem to end before it began.
 */
static __noinline void wait_end_late(struct task_struct *task, struct task_state *state,
				     __u64 now_ns)
{
	__u64 end_ns = task_arrival_ns(task, now_ns);

	if (task_arrivals(task) == state->arrivals)
		return;
	if (end_ns)
		wait_count(task, NULL, state,
			   end_ns > state->queued_ns ? end_ns - state->queued_ns : 0);
	else
		loss_count(LOSS_NO_SWITCH, 0);
}

/*
 * Drops the wait of a task that the filter excludes now: if it was woken up before it left its CPU,
 * it would seem to wait since that wakeup.
 */
static __always_inline void wait_forget(struct task_struct *task)
{
	struct task_state *state = filter_has(FILTER_CHANGES) ? task_state_find(task) : NULL;

	if (state)
		state->queued_ns = 0;
}

/* Starts a wait. is_new: a new task has no earlier wait, so code for a missed end is dead. */
static __always_inline void wait_begin(struct task_struct *task, bool is_new)
{
	struct task_state *state;
	__u64 now_ns;

	if (!filter_task(task)) {
		if (!is_new)
			wait_forget(task);
		return;
	}
	state = task_state_find(task);
	if (!state)
		return;
	now_ns = bpf_ktime_get_ns();
	if (!is_new && state->queued_ns)
		wait_end_late(task, state, now_ns);
	if (hist_by == BY_CAUSE)
		throttle_begin(task, &state->throttle);
	state->queued_ns = now_ns;
	state->arrivals = task_arrivals(task);
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(runqlat_wakeup, struct task_struct *task)
{
	wait_begin(task, false);
	return 0;
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(runqlat_wakeup_new, struct task_struct *task)
{
	wait_begin(task, true);
	return 0;
}

/* Ends next's wait; starts one for prev if it is still runnable, since it was preempted. */
SEC("tp_btf/sched_switch")
int BPF_PROG(runqlat_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	if (!task_is_idle(prev) && (preempt || !task_raw_state(prev)))
		wait_begin(prev, false);
	if (!task_is_idle(next))
		wait_end(next, prev);
	return 0;
}

/* Runs with --throttled when a waiting task moves to another CPU. */
SEC("tp_btf/sched_migrate_task")
int BPF_PROG(runqlat_migrate, struct task_struct *task, int cpu)
{
	struct task_state *state = task_state_find(task);

	if (state && state->queued_ns)
		throttle_move(task, &state->throttle, cpu);
	return 0;
}

/*
 * Renames the histogram of a process or thread, if it has one. Its number may be that of a later
 * process, which the filter excludes; with --comm, the name is the one in the filter.
 */
SEC("tp_btf/task_rename")
int BPF_PROG(runqlat_rename, struct task_struct *task, const char *comm)
{
	struct hist_label label = {};
	__u64 id;

	if (hist_by == BY_THREAD)
		id = task_tid(task);
	else if (hist_by == BY_PROCESS && task_is_leader(task))
		id = task_tgid(task);
	else
		return 0;
	if (filter_has(FILTER_COMM) || !filter_task(task))
		return 0;
	bpf_probe_read_kernel_str(label.name, sizeof(label.name), comm);
	bpf_map_update_elem(&hist_labels, &id, &label, BPF_EXIST);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
