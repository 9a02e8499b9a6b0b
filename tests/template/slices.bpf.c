// SPDX-License-Identifier: GPL-2.0-only
/*
 * Time slices: from the moment a task gets a CPU to the moment it leaves it, whether it has to or
 * wants to. The filter tests the task when it gets the CPU.
 */
#include "lib/hist.bpf.h"
#include "lib/filter.bpf.h"

struct task_state {
	__u64 on_ns; /* 0: not on a CPU, or not traced */
};

#include "sched/task_state.bpf.h"

const volatile bool by_process = false;

static void task_visit(struct bpf_iter__task *ctx, struct task_struct *task,
		       struct task_state *state)
{
}

static __always_inline void slice_begin(struct task_struct *task)
{
	struct task_state *state = filter_task(task) ? task_state_find(task) : 0;

	if (state)
		state->on_ns = bpf_ktime_get_ns();
}

static __always_inline void slice_end(struct task_struct *task)
{
	struct task_state *state = task_state_find(task);
	__u64 slice_ns;

	if (!state || !state->on_ns)
		return;
	slice_ns = bpf_ktime_get_ns() - state->on_ns;
	state->on_ns = 0;
	if (by_process)
		hist_record_by_key(slice_ns, task_tgid(task), task->group_leader->comm);
	else
		hist_record(slice_ns);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(slices_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	if (!task_is_idle(prev))
		slice_end(prev);
	if (!task_is_idle(next))
		slice_begin(next);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
