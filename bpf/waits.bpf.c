// SPDX-License-Identifier: GPL-2.0-only
/*
 * Threads' time: waits, also per lock (waits.bpf.h), which is all that offcputime loads, and
 * samples of threads on CPU, in the same tables of stacks. The loader scales the samples to the
 * time on CPU by the switches.
 *
 * Programs interrupt each other: a sample that comes by an NMI, a wake-up by an interrupt in the
 * middle of counting a lock. Below 5.11 the sampled task is just an address.
 */
#define STACK_NESTED
#define STACK_RECURS
#define TASK_READ(task, field) (HAS_TYPED_CURRENT ? (task)->field : BPF_CORE_READ(task, field))
#include "sched/waits_visit.bpf.h"
#include "stack/sampled.bpf.h"

SEC("perf_event")
int waits_sample(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = current_task();
	struct stack_key key = { .remark = RUN_SAMPLED };
	bool is_idle = task_is_idle(task);

	sampled_note(ctx, task, is_idle);
	if (is_idle || !filter_task(task))
		return 0;
	stack_key_owner(&key, task);
	key.user_id = sampled_user_stack(ctx);
	key.kernel_id = stack_intern_kernel_current(ctx);
	stack_count(&key, ctx->sample_period, 1);
	return 0;
}

/*
 * A thread changes its name: its time on CPU is counted under the old name, as its samples are. By
 * its new name it may be traced from now on.
 */
SEC("tp_btf/task_rename")
int BPF_PROG(waits_rename, struct task_struct *task)
{
	struct task_state *state = task_state_find(task);
	__u64 now_ns;

	if (!state)
		return 0;
	if (state->off_ns && task_is_on_cpu(task))
		switch_in_late(task, state);
	now_ns = bpf_ktime_get_ns();
	if (filter_task(task))
		run_cut(task, state, now_ns);
	if (!filter_has(FILTER_COMM) || !task_is_on_cpu(task))
		return 0;
	state->switches = task_switches(task);
	state->on_ns = now_ns;
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
