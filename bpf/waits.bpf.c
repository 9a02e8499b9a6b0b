// SPDX-License-Identifier: GPL-2.0-only
/*
 * Threads' time: waits (waits.bpf.h) and, for profile --wall, samples of threads on CPU, in the
 * same stack tables. The loader scales the samples to the measured time on CPU.
 *
 * Programs may interrupt each other, since samples come by NMIs. Before 5.11 the sampled task is an
 * untyped address.
 */
#define STACK_NESTED
#define STACK_RECURS
#define TASK_READ(task, field) (HAS_TYPED_CURRENT ? (task)->field : BPF_CORE_READ(task, field))
#include "sched/waits_visit.bpf.h"
#include "stack/kernel_walk.bpf.h"
#include "stack/sampled.bpf.h"

static __always_inline bool wait_begin(struct task_struct *task, bool is_current)
{
	return true;
}

/* Subtracts the part of a wait that a quota caused, and returns it. */
static __always_inline __u64 throttled_take(struct task_struct *task, struct wait *wait)
{
	__u64 ns = throttle_take(task, &wait->throttle, wait->runnable_ns);

	wait->runnable_ns -= ns;
	wait->ns -= ns;
	return ns;
}

/* Counts the throttled part last: with single events, the parts of a wait come in order of time. */
static __noinline void wait_count(struct task_struct *task, struct wait *wait,
				  enum kernel_stack kernel_stack)
{
	bool is_next = kernel_stack == KERNEL_STACK_OF_NEXT;
	__u64 throttled_ns = 0;

	stack_key_owner(&wait->key, task);
	if (is_next || (kernel_stack == KERNEL_STACK_OF_ANY && wait->ns))
		wait->key.kernel_id = stack_intern_kernel_of(task, is_next);
	if (wait_settings.throttled && wait->runnable_ns)
		throttled_ns = throttled_take(task, wait);
	if (wait->ns || !throttled_ns)
		stack_count(&wait->key, wait->ns,
			    wait_settings.part == PART_ALL ? wait->runnable_ns : 0);
	if (!throttled_ns)
		return;
	wait->key.remark = WAIT_THROTTLED;
	stack_count(&wait->key, throttled_ns, wait_settings.part == PART_ALL ? throttled_ns : 0);
}

/* Counts the time on CPU of an exiting thread; events up to its last switch may follow. */
static __always_inline void task_end(struct task_struct *task)
{
	struct task_state *state;

	if (!COUNTS_RUNS)
		return;
	if (!filter_task(task)) {
		run_leave_cgroup(task);
		return;
	}
	state = task_state_find(task);
	if (!state)
		return;
	if (state->off_ns)
		switch_in_late(task, state);
	run_cut(task, state, bpf_ktime_get_ns());
}

SEC("tp_btf/sched_switch")
int BPF_PROG(waits_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	wait_switch(ctx, preempt, prev, next);
	return 0;
}

/*
 * Records the waker. Loaded only with --waker, since the verifier takes long for it. The task may
 * still be on its CPU, about to sleep.
 */
SEC("tp_btf/sched_waking")
int BPF_PROG(waits_waking, struct task_struct *task)
{
	struct task_state *state = task_state_find(task);

	if (state && (!state->off_ns || !state->wake_ns))
		state->waking_id = waker_intern(ctx);
	return 0;
}

/* Starts the first wait of a new task. */
SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(waits_wakeup_new, struct task_struct *task)
{
	struct task_state *state;

	if (!filter_task(task))
		return 0;
	state = task_state_find(task);
	if (!state || !state_is_wanted(0))
		return 0;
	state->letter = state_letter(0);
	state->off_ns = bpf_ktime_get_ns();
	state->wake_ns = state->off_ns;
	runnable_begin(task, state);
	return 0;
}

/* Runs when a task that waits for a CPU moves to another one; only with --throttled. */
SEC("tp_btf/sched_migrate_task")
int BPF_PROG(waits_migrate, struct task_struct *task, int cpu)
{
	struct task_state *state = task_state_find(task);

	if (state && state->off_ns)
		throttle_move(task, &state->throttle, cpu);
	return 0;
}

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
 * Runs when a thread changes its name: counts its time on CPU under the old name, as its samples
 * are. If the filter tests names, starts a new measurement under the new name.
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
