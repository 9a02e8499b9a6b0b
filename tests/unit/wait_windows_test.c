// SPDX-License-Identifier: GPL-2.0-only
/* Which parts of a wait windows count: the arithmetic of BPF's side. */
#include "abi/waits.h"
#include "unit.h"

#define SEC(name)
#define barrier_var(var) __asm__ volatile("" : "+r"(var))

struct task_state {
	__u64 cut_ns, wake_ns;
};

struct wait {
	__u64 ns, runnable_ns;
};

static struct wait_settings wait_settings;

#define WAIT_STATE_BPF_H /* the kernel's, instead of which there are those above */

#include "sched/wait_windows.bpf.h"

/* What is left of a wait from 1000 on that ends then. */
static struct wait left_of(__u64 cut_ns, __u64 wake_ns, __u64 now_ns, enum wait_part part)
{
	struct task_state state = { cut_ns, wake_ns };
	struct wait wait;

	wait_settings = (struct wait_settings){
		.max_ns = ~0ULL,
		.part = part,
		.has_windows = true,
	};
	wait_measure(&wait, 1000, wake_ns, now_ns);
	wait_take_off(&wait, &state, 1000, now_ns);
	return wait;
}

TEST(what_a_window_has_counted_is_taken_off)
{
	struct wait wait = left_of(1400, 1600, 2000, PART_ALL);

	CHECK_EQ(wait.ns, 600);
	CHECK_EQ(wait.runnable_ns, 400);
	wait = left_of(1700, 1600, 2000, PART_ALL);
	CHECK_EQ(wait.ns, 300);
	CHECK_EQ(wait.runnable_ns, 300);
	wait = left_of(1700, 1600, 2000, PART_BLOCKED);
	CHECK_EQ(wait.ns, 0);
}

TEST(an_earlier_waits_cut_is_none_of_this_one)
{
	struct wait wait = left_of(900, 0, 2000, PART_ALL);

	CHECK_EQ(wait.ns, 1000);
	CHECK_EQ(wait.runnable_ns, 0);
}

/* The clock was read before it ended. */
TEST(a_window_that_has_ended_meanwhile_leaves_nothing)
{
	struct wait wait = left_of(2003, 1600, 2000, PART_ALL);

	CHECK_EQ(wait.ns, 0);
	CHECK_EQ(wait.runnable_ns, 0);
	wait = left_of(2003, 1600, 2000, PART_RUNNABLE);
	CHECK_EQ(wait.ns, 0);
	wait = left_of(2003, 1600, 2000, PART_BLOCKED);
	CHECK_EQ(wait.ns, 0);
}
