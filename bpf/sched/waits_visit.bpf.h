/* SPDX-License-Identifier: GPL-2.0-only */
/* Visits the tasks that are off CPU when tracing starts and when a window ends. */
#ifndef WAITS_VISIT_BPF_H
#define WAITS_VISIT_BPF_H

#include "sched/waits.bpf.h"

static __always_inline __u64 id_at_start(struct task_struct *task)
{
	return STACK_ID_AT_START | window.n_begun << 32 | task_tid(task);
}

static __always_inline bool fill_thread(struct unwind_thread *thread, struct task_struct *task,
					__u64 arrivals)
{
	thread->stack_id = id_at_start(task);
	thread->tgid = task_tgid(task);
	thread->tid = task_tid(task);
	thread->generation = BPF_CORE_READ(task, self_exec_id);
	thread->arrivals = arrivals;
	if (!read_user_registers(&thread->regs, task_user_registers(task)))
		return false;
	thread->regs.thread_base = task_thread_base(task);
	return true;
}

/*
 * Sends the registers with which an off-CPU thread entered the kernel: the loader walks its stack.
 * Returns false if the iterator's buffer is full: the iterator visits the task again once the
 * buffer has been read.
 */
static __always_inline bool send_registers(struct bpf_iter__task *ctx, struct task_struct *task,
					   __u64 arrivals)
{
	__u32 slot = stack_claim_slot();
	struct stack_scratch *scratch = stack_scratch_of(slot);
	long err = 0;

	if (!scratch)
		return true;
	if (fill_thread(&scratch->thread, task, arrivals)) {
		unwind_take_returns(slot, task);
		bpf_probe_read_kernel(&scratch->thread.returns, sizeof(scratch->thread.returns),
				      &scratch->returns);
		err = bpf_seq_write(ctx->meta->seq, &scratch->thread, sizeof(scratch->thread));
	}
	stack_release_slot(slot);
	return !err;
}

/* Starts the run of a task that is on a CPU when tracing begins, unless a switch has. */
static __always_inline void run_begin_at_start(struct task_struct *task)
{
	struct task_state *state = COUNTS_RUNS ? task_state_find(task) : NULL;

	if (!state || state->on_ns || state->ran_ns || !filter_task(task))
		return;
	state->switches = task_switches(task);
	state->on_ns = window.start_ns;
}

/*
 * Replaces the user stack of a wait if the process's runtime was described after the wait began,
 * and after the last visit: the functions were unknown.
 */
static __always_inline void renew_stack(struct bpf_iter__task *ctx, struct task_struct *task,
					struct task_state *state, __u64 arrivals)
{
	__u64 off_ns = state->off_ns, since_ns = runtime_since_ns(task_tgid(task));

	if (since_ns < off_ns || since_ns < window.seen_ns || !state->user_id ||
	    state->switches != task_switches(task) || task_is_on_cpu(task) ||
	    !send_registers(ctx, task, arrivals))
		return;
	state = task_state_find(task);
	if (state && *(volatile __u64 *)&state->off_ns == off_ns)
		state->user_id = id_at_start(task);
}

/* Starts the wait of an off-CPU task, at the window's start. */
static __noinline void visit_at_start(struct bpf_iter__task *ctx, struct task_struct *task,
				      struct task_state *state)
{
	__u64 arrivals = task_arrivals(task); /* read before task_is_on_cpu() */
	__u32 raw_state = state_of_wait(task_raw_state(task));
	__u64 user_id = 0;

	if (state->off_ns && window.n_begun > 1)
		renew_stack(ctx, task, state, arrivals);
	if (state->off_ns || TASK_READ(task, exit_state))
		return;
	if (task_is_on_cpu(task)) {
		run_begin_at_start(task);
		return;
	}
	if (!filter_task(task) || !state_is_wanted(raw_state) || !wait_begin(task, false))
		return;
	if (stack_settings.user && !task_is_kthread(task)) {
		if (!send_registers(ctx, task, arrivals))
			return;
		user_id = id_at_start(task);
	}
	state = task_state_find(task);
	if (!state)
		return;
	state->switches = task_switches(task);
	state->letter = state_letter(raw_state);
	state->at_start = window.n_begun == 1;
	state->user_id = user_id;
	state->wake_ns = state_is_runnable(raw_state) ? window.start_ns : 0;
	if (state->wake_ns)
		runnable_begin(task, state);
	state->off_ns = window.start_ns;
}

/* Stores the measured throttling in the task's state, if the wait continues. */
static __always_inline void throttle_go_on(struct task_struct *task, __u64 off_ns,
					   const struct throttle_mark *mark)
{
	struct task_state *state = COUNTS_THROTTLED ? task_state_find(task) : NULL;

	if (state && state->off_ns == off_ns && state->throttle.queue == mark->queue)
		state->throttle = *mark;
}

/* Counts time on CPU up to a window's end. Not inlined: its key and a wait need much stack. */
static __noinline void run_visit_at_end(struct task_struct *task, struct task_state *state)
{
	if (filter_task(task))
		run_cut(task, state, window.end_ns);
	else
		run_leave_cgroup(task);
}

/*
 * Counts the wait of an off-CPU task up to the window's end, if wait_is_decided(); the next window
 * counts the rest. The kernel stack is that of the wait only if the task hasn't run since its
 * switch-out.
 *
 * The task may get a CPU meanwhile, and leave it again. So this marks nothing as waiting: cut_ns
 * doesn't apply to a later wait, and off_ns, which wait_end() clears before a wait is counted, is
 * checked again.
 */
static __noinline void visit_at_end(struct task_struct *task, struct task_state *state)
{
	__u64 off_ns = *(volatile __u64 *)&state->off_ns, until_ns = off_ns;
	bool is_on_cpu = task_is_on_cpu(task),
	     is_here = !is_on_cpu && state->switches == task_switches(task);
	struct wait wait;

	if (!off_ns || off_ns >= window.end_ns || window.is_peek)
		return;
	if (wait_is_decided(state, off_ns, is_on_cpu))
		until_ns = window.end_ns;
	if (!wait_take(&wait, state, off_ns, until_ns, WAIT_AT_END))
		return;
	if (until_ns != off_ns)
		state->cut_ns = until_ns;
	barrier();
	if (*(volatile __u64 *)&state->off_ns != off_ns)
		return;
	wait_count(task, &wait, is_here ? KERNEL_STACK_OF_ANY : KERNEL_STACK_NONE);
	throttle_go_on(task, off_ns, &wait.throttle);
}

static void task_visit(struct bpf_iter__task *ctx, struct task_struct *task,
		       struct task_state *state)
{
	if (task_is_idle(task))
		return;
	if (window.end_ns && COUNTS_RUNS)
		run_visit_at_end(task, state);
	if (window.end_ns)
		visit_at_end(task, state);
	else
		visit_at_start(ctx, task, state);
}

#endif
