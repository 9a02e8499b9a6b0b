/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Off-CPU time: from the moment a task is switched out to the moment it is switched in again, split
 * at its wake-up into a blocked and a runnable part. The loader's part is common/stacks/waits.h.
 *
 * With wait_settings.on_cpu, the time on CPU is measured by the same switches, so that waits and
 * runs are a thread's whole time: runs are totalled in the thread's state, and counted without a
 * stack when the thread or the window ends.
 *
 * The user stack is taken at switch-out, while the task's memory is still mapped. The kernel stack
 * is taken at switch-in: it is still the stack in which the task blocked, has no frames of the
 * tracer, and costs time only for waits that are counted. The task iterator visits the tasks that
 * are off CPU when tracing starts and when it ends.
 */
#ifndef WAITS_BPF_H
#define WAITS_BPF_H

#include "sched/wait_windows.bpf.h"
#include "stack/stack.bpf.h"

/*
 * A runnable task has none of the reported state bits; STATE_NO_BIT, the bit after them, represents
 * it. Each of these eight bits, times BITS_IN_ORDER (a de Bruijn sequence), gives a different
 * number in the upper three bits of the product; INDEX_BY_NUMBER maps this number to the index of
 * the state's letter.
 */
#define STATE_NO_BIT	(1U << (STATE_IDLE - 1))
#define BITS_IN_ORDER	0x17U
#define INDEX_BY_NUMBER 0x67405321U

/* Packed into a number: a small array would get its own section, which libbpf doesn't know. */
#define LETTER_AT(i) ((__u64)STATE_LETTERS[i] << 8 * (i))
#define ALL_LETTERS                                                                                \
	(LETTER_AT(0) | LETTER_AT(1) | LETTER_AT(2) | LETTER_AT(3) | LETTER_AT(4) | LETTER_AT(5) | \
	 LETTER_AT(6) | LETTER_AT(7))

/* An uninterruptible task that doesn't add to the load is idle. */
static __always_inline bool state_is_idle(__u32 state)
{
	return (state & (TASK_UNINTERRUPTIBLE | TASK_NOLOAD)) ==
	       (TASK_UNINTERRUPTIBLE | TASK_NOLOAD);
}

/*
 * Returns a raw state with TASK_FROZEN and TASK_RTLOCK_WAIT moved to the bit of D, since the kernel
 * reports both as D; older kernels don't use these bits. Has no branch, which would be two states
 * for the verifier.
 */
static __always_inline __u32 state_of_wait(__u32 raw_state)
{
	return raw_state | ((raw_state / (TASK_FROZEN / TASK_UNINTERRUPTIBLE) |
			     raw_state / (TASK_RTLOCK_WAIT / TASK_UNINTERRUPTIBLE)) &
			    TASK_UNINTERRUPTIBLE);
}

static __always_inline bool state_is_runnable(__u32 state)
{
	return !(state & (STATE_NO_BIT - 1));
}

/* Returns the index of a non-idle state's letter, without a loop that the verifier would follow. */
static __always_inline __u32 state_index(__u32 state)
{
	__u32 bits = state | STATE_NO_BIT, number = ((bits & -bits) * BITS_IN_ORDER & 0xff) >> 5;

	return INDEX_BY_NUMBER >> number * 4 & 15;
}

static __always_inline bool state_is_wanted(__u32 state)
{
	__u32 index;

	if (!~wait_settings.states && !wait_settings.state_mask)
		return true;
	index = state_is_idle(state) ? STATE_IDLE : state_index(state);
	return wait_settings.states & (1 << index) &&
	       (!wait_settings.state_mask || state & wait_settings.state_mask);
}

static __always_inline __u8 state_letter(__u32 state)
{
	return state_is_idle(state) ? 'I' : ALL_LETTERS >> state_index(state) * 8;
}

/* Returns true if the tool holds its command by ptrace(2): this is not a wait of the command. */
static __always_inline bool is_held_by_tool(struct task_struct *task, __u32 state)
{
	return state & __TASK_TRACED && task_tgid(TASK_READ(task, parent)) == filter.self_tgid;
}

static __always_inline __u64 task_switches(struct task_struct *task)
{
	return TASK_READ(task, nvcsw) + TASK_READ(task, nivcsw);
}

enum kernel_stack {
	KERNEL_STACK_NONE,
	KERNEL_STACK_OF_NEXT, /* stack of the task that is about to get this CPU */
	KERNEL_STACK_OF_ANY,  /* stack of a task that may get a CPU at any moment */
};

/*
 * Prepares a wait of the task, e.g. records its lock; false: not counted. Defined by each program.
 */
static bool wait_begin(struct task_struct *task, bool is_current);

/* Counts a wait. Defined by each program. */
static void wait_count(struct task_struct *task, struct wait *wait, enum kernel_stack kernel_stack);

/* Starts a wait for a CPU. */
static __always_inline void runnable_begin(struct task_struct *task, struct task_state *state)
{
	if (COUNTS_THROTTLED)
		throttle_begin(task, &state->throttle);
}

static __always_inline bool wait_ns_are_wanted(__u64 ns)
{
	return ns && ns >= wait_settings.min_ns && ns <= wait_settings.max_ns;
}

/*
 * Sets *wait to the uncounted part of a wait that ends now or, with WAIT_AT_END, continues. The
 * length of the whole wait decides whether it is wanted. At a window's end a wait that can't be
 * decided yet is counted as 0, so that the loader retains its stacks. Returns false if it is not
 * counted.
 */
static __always_inline bool wait_take(struct wait *wait, const struct task_state *state,
				      __u64 off_ns, __u64 now_ns, __u8 remark)
{
	if (!state->letter)
		return false;
	wait_measure(wait, off_ns, state->wake_ns, now_ns);
	if (!wait_ns_are_wanted(wait->ns)) {
		if (remark != WAIT_AT_END)
			return false;
		wait->ns = wait->runnable_ns = 0;
	} else if (wait_settings.has_windows) {
		wait_take_off(wait, state, off_ns, now_ns);
		if (!wait->ns && remark != WAIT_AT_END)
			return false;
	}
	wait->key = (struct stack_key){
		.user_id = state->user_id,
		.waker_id = state->waker_id,
		.state = state->letter,
		.remark = remark | (state->at_start | wait_is_cut(state, off_ns)) * WAIT_AT_START,
	};
	wait->lock = state->lock;
	if (COUNTS_THROTTLED)
		wait->throttle = state->throttle;
	return true;
}

/* Marks a wait as ended, before wait_take(): a window that ends meanwhile skips it. */
static __always_inline void wait_end(struct task_state *state)
{
	*(volatile __u64 *)&state->off_ns = 0;
	barrier();
}

/* ---- time on CPU ---- */

static __always_inline void run_begin(struct task_state *state, __u64 now_ns)
{
	if (COUNTS_RUNS)
		state->on_ns = now_ns;
}

static __always_inline void run_count(struct task_struct *task, struct task_state *state)
{
	struct stack_key key = { .remark = RUN_TIME };

	if (!state->ran_ns)
		return;
	stack_key_owner(&key, task);
	if (state->cgroup_id)
		key.cgroup_id = state->cgroup_id;
	if (state->ran_tid)
		key.tid = state->ran_tid;
	stack_count(&key, state->ran_ns, 0);
	state->ran_ns = state->cgroup_id = state->ran_tid = 0;
}

/* Counts runs at a switch-out. Not inlined: its key and a wait need much stack. */
static __noinline void run_send(struct task_struct *task, struct task_state *state)
{
	run_count(task, state);
}

/*
 * Before the cgroup or the thread's id changes, counts the time on CPU under the old one, as the
 * samples are. (exec gives a thread the id of the main thread.)
 */
static __always_inline void run_note_owner(struct task_struct *task, struct task_state *state)
{
	__u64 cgroup_id = stack_settings.cgroup ? task_cgroup(task) : 0;
	__u32 tid = stack_settings.thread ? task_tid(task) : 0;

	if (state->cgroup_id != cgroup_id || state->ran_tid != tid)
		run_send(task, state);
	state->cgroup_id = cgroup_id;
	state->ran_tid = tid;
}

/* Counts the time on CPU in the traced cgroup of a thread that may have left it. */
static __always_inline void run_leave_cgroup(struct task_struct *task)
{
	struct task_state *state;

	if (!COUNTS_RUNS || !filter_has(FILTER_CGROUP))
		return;
	state = task_state_find(task);
	if (!state)
		return;
	state->on_ns = 0;
	run_send(task, state);
}

/* Ends a run at a switch-out. If switches were missed since its start, its length is unknown. */
static __always_inline void run_end(struct task_struct *task, struct task_state *state,
				    __u64 now_ns)
{
	if (!COUNTS_RUNS)
		return;
	run_note_owner(task, state);
	if (state->on_ns && state->on_ns < now_ns && task_switches(task) == state->switches + 1)
		state->ran_ns += now_ns - state->on_ns;
	state->on_ns = 0;
	if (stack_settings.events)
		run_send(task, state);
}

/*
 * Ends the wait of a task that is on CPU, but whose switch-in had no event. (A 6.18 kernel built
 * for small virtual machines has no events, not even in ftrace, for switches from the threads of
 * its init.) The scheduler has recorded the time of the switch; the kernel stack of the wait is
 * gone.
 */
static __always_inline void switch_in_late(struct task_struct *task, struct task_state *state)
{
	__u64 in_ns = task_arrival_ns(task, bpf_ktime_get_ns()), off_ns = state->off_ns;
	__u64 uncounted_ns = wait_uncounted_ns(state, off_ns);
	bool is_counted = in_ns > uncounted_ns;
	struct wait wait;

	if (!in_ns)
		loss_count(LOSS_NO_SWITCH, 0);
	wait_end(state);
	delay_record(state, in_ns);
	if (is_counted)
		is_counted = wait_take(&wait, state, off_ns, in_ns, 0);
	if (in_ns)
		run_begin(state, in_ns > uncounted_ns ? in_ns : uncounted_ns);
	if (is_counted)
		wait_count(task, &wait, KERNEL_STACK_NONE);
}

/* Counts the time that a thread has run; a run that continues is measured from now on. */
static __always_inline void run_cut(struct task_struct *task, struct task_state *state,
				    __u64 now_ns)
{
	if (!state->off_ns && state->on_ns && state->on_ns < now_ns) {
		state->ran_ns += now_ns - state->on_ns;
		state->on_ns = now_ns;
	}
	run_count(task, state);
}

static __always_inline __u64 last_switch_out(struct task_struct *task)
{
	struct task_state *state = COUNTS_RUNS ? task_state_find(task) : NULL;
	__u64 now_ns;

	if (!state)
		return 0;
	now_ns = bpf_ktime_get_ns();
	run_end(task, state, now_ns);
	run_count(task, state);
	return now_ns;
}

/* ---- switches and wake-ups ---- */

/* Handles a switch-out. Returns the time of the switch if it was read, else 0. */
static __always_inline __u64 switch_out(void *ctx, struct task_struct *task, bool preempt)
{
	__u32 raw_state = switch_state(ctx, task);
	struct task_state *state;
	__u64 now_ns, user_id;

	if (!filter_task(task)) {
		run_leave_cgroup(task);
		return 0;
	}
	state = task_state_find(task);
	if (state && state->off_ns)
		switch_in_late(task, state);
	if (raw_state & TASK_DEAD)
		return last_switch_out(task);
	raw_state = preempt ? 0 : state_of_wait(raw_state);
	if (!state_is_wanted(raw_state) || !wait_begin(task, true))
		return 0;
	user_id = stack_intern_user_typed(ctx, task);
	state = task_state_find(task); /* no pointer is held while interning: see struct wait */
	if (!state)
		return 0;
	state->waker_id = 0;
	state->user_id = user_id;
	state->at_start = false;
	state->letter = is_held_by_tool(task, raw_state) ? 0 : state_letter(raw_state);
	now_ns = bpf_ktime_get_ns();
	run_end(task, state, now_ns);
	state->switches = task_switches(task);
	state->wake_ns = state_is_runnable(raw_state) ? now_ns : 0;
	if (COUNTS_THROTTLED)
		throttle_clear(&state->throttle);
	if (state->wake_ns)
		runnable_begin(task, state);
	state->off_ns = now_ns;
	return now_ns;
}

/* Dates a wake-up without an event (see switch_in_late()), at the switch-in. */
static __always_inline void wake_late(struct task_struct *task, struct task_state *state,
				      __u64 off_ns, __u64 now_ns)
{
	__u64 queued_ns = task_queued_ns(task, now_ns);

	if (queued_ns > off_ns)
		state->wake_ns = queued_ns;
}

static __always_inline void switch_in(struct task_struct *task, __u64 now_ns)
{
	struct task_state *state = task_state_find(task);
	struct wait wait;
	bool is_counted;
	__u64 off_ns;

	if (!state || !state->off_ns)
		return;
	now_ns = now_ns ? now_ns : bpf_ktime_get_ns();
	off_ns = state->off_ns;
	wait_end(state);
	if (!state->wake_ns)
		wake_late(task, state, off_ns, now_ns);
	delay_record(state, now_ns);
	is_counted = wait_take(&wait, state, off_ns, now_ns, 0);
	run_begin(state, now_ns);
	if (is_counted)
		wait_count(task, &wait, KERNEL_STACK_OF_NEXT);
}

static __always_inline void wait_switch(void *ctx, bool preempt, struct task_struct *prev,
					struct task_struct *next)
{
	__u64 now_ns = 0;

	if (!task_is_idle(prev))
		now_ns = switch_out(ctx, prev, preempt);
	if (!task_is_idle(next))
		switch_in(next, now_ns);
}

/* Returns the current task's id as a waker: a hash of its two stacks and its comm. */
static __always_inline __u64 waker_intern(void *ctx)
{
	__u64 user_id = stack_intern_user(ctx), kernel_id = stack_intern_kernel_current(ctx);
	__u32 slot = stack_claim_slot();
	struct stack_def *def = stack_begin(slot, STACK_WAKER, current_tgid());
	__u64 id;

	if (!def)
		return 0;
	def->words[0] = user_id;
	def->words[1] = kernel_id;
	bpf_get_current_comm(&def->words[2], TASK_COMM_LEN);
	def->n_words = 4;
	id = stack_intern(slot);
	stack_release_slot(slot);
	return id;
}

/*
 * Ends the blocked part of a wait. At this event the task is on its run queue and has been switched
 * out; at sched_waking it may still be on its CPU, about to sleep. (With the delayed dequeuing of
 * 6.12 a task that is woken up before its switch-out stays on its queue, and its state doesn't show
 * that.)
 */
SEC("tp_btf/sched_wakeup")
int BPF_PROG(waits_wakeup, struct task_struct *task)
{
	struct task_state *state = task_state_find(task);

	if (!state || !state->off_ns)
		return 0;
	if (!state->wake_ns) {
		state->wake_ns = bpf_ktime_get_ns();
		state->waker_id = state->waking_id;
	}
	if (COUNTS_THROTTLED && !state->throttle.queue)
		runnable_begin(task, state);
	return 0;
}

#endif
