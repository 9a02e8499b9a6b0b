/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Windows of time, one per report: a wait that continues at a window's end is counted up to there
 * in this window, and the rest in the next one. The whole length of a wait decides whether it is
 * wanted; a window that can't decide yet leaves the wait to a later one.
 */
#ifndef WAIT_WINDOWS_BPF_H
#define WAIT_WINDOWS_BPF_H

#include "sched/wait_state.bpf.h"

struct wait_window window SEC(".data.window") = {};

/* Sets the requested part of a wait, and its runnable share, without a branch. */
static __always_inline void wait_measure(struct wait *wait, __u64 off_ns, __u64 wake_ns,
					 __u64 now_ns)
{
	__u64 is_awake = (-wake_ns & (wake_ns - now_ns)) >> 63; /* 0 < wake_ns < now_ns */

	barrier_var(is_awake);
	wait->ns = now_ns - off_ns;
	wait->runnable_ns = (now_ns - wake_ns) * is_awake;
	if (wait_settings.part == PART_RUNNABLE) {
		wait->ns = wait->runnable_ns;
	} else if (wait_settings.part == PART_BLOCKED) {
		wait->ns -= wait->runnable_ns;
		wait->runnable_ns = 0;
	}
}

/* Returns 1 if earlier windows counted the first part of the wait, else 0, without a branch. */
static __always_inline __u64 wait_is_cut(const struct task_state *state, __u64 off_ns)
{
	__u64 is_cut;

	if (!wait_settings.has_windows)
		return 0;
	is_cut = (off_ns - state->cut_ns) >> 63;
	barrier_var(is_cut);
	return is_cut;
}

/*
 * Returns the time up to which a wait has been counted: the end of a window, or the wait's start.
 */
static __always_inline __u64 wait_uncounted_ns(const struct task_state *state, __u64 off_ns)
{
	if (!wait_settings.has_windows)
		return off_ns;
	return off_ns + (state->cut_ns - off_ns) * wait_is_cut(state, off_ns);
}

/*
 * Subtracts the part of a wait that earlier windows have counted. A window may have ended after
 * now_ns was read, so the part is limited to the wait.
 */
static __always_inline void wait_take_off(struct wait *wait, const struct task_state *state,
					  __u64 off_ns, __u64 now_ns)
{
	__u64 until_ns = wait_uncounted_ns(state, off_ns), is_ahead = (now_ns - until_ns) >> 63;
	struct wait counted;

	barrier_var(is_ahead);
	wait_measure(&counted, off_ns, state->wake_ns, until_ns + (now_ns - until_ns) * is_ahead);
	wait->ns -= counted.ns;
	wait->runnable_ns -= counted.runnable_ns;
}

/*
 * Returns true if a wait that continues at the window's end has a wanted length for sure: this
 * window counts it. Otherwise a later window does, once the length is known. A task that is on a
 * CPU has stopped waiting; the switch was missed.
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
