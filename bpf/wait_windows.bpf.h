/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Windows of time, one for each report: where one ends, what a wait has taken so far is counted in
 * it, and the rest in the next one. A wait keeps its beginning all the same: how long it is decides
 * whether it is wanted, and a window that can't know that yet leaves it to a later one.
 *
 * waits.bpf.h has defined its settings, its struct task_state and wait_measure().
 */
#ifndef WAIT_WINDOWS_BPF_H
#define WAIT_WINDOWS_BPF_H

struct wait_window window SEC(".data.window") = {};

/* 1 if the first part of the wait was counted in windows before, else 0: without a branch. */
static __always_inline __u64 wait_is_cut(const struct task_state *state, __u64 off_ns)
{
	__u64 is_cut;

	if (!wait_settings.has_windows)
		return 0;
	is_cut = (off_ns - state->cut_ns) >> 63;
	barrier_var(is_cut);
	return is_cut;
}

/* From when on a wait isn't counted yet: the end of a window, or its beginning. */
static __always_inline __u64 wait_uncounted_ns(const struct task_state *state, __u64 off_ns)
{
	if (!wait_settings.has_windows)
		return off_ns;
	return off_ns + (state->cut_ns - off_ns) * wait_is_cut(state, off_ns);
}

/* Takes off what windows have counted of a wait. */
static __always_inline void wait_take_off(struct wait *wait, const struct task_state *state,
					  __u64 off_ns)
{
	struct wait counted;

	wait_measure(&counted, off_ns, state->wake_ns, wait_uncounted_ns(state, off_ns));
	wait->ns -= counted.ns;
	wait->runnable_ns -= counted.runnable_ns;
}

/*
 * Whether a wait that goes on when the window ends is sure to be long enough, and not too long:
 * then the window counts it. Else it waits for the window that knows. One whose task is on a CPU
 * has ended, only that nobody saw it.
 */
static __always_inline bool wait_is_decided(const struct task_state *state, __u64 off_ns,
					    bool is_on_cpu)
{
	struct wait wait;

	if (window.is_last)
		return true;
	if (is_on_cpu || wait_settings.max_ns != ~0ULL)
		return false;
	wait_measure(&wait, off_ns, state->wake_ns, window.end_ns);
	return wait.ns >= wait_settings.min_ns;
}

#endif
