// SPDX-License-Identifier: GPL-2.0-only
/* Which parts of a wait windows count: the arithmetic of BPF's side. */
#include "abi/waits.h"
#include "unit.h"

#define SEC(name)

struct task_state {
	__u64 cut_ns, wake_ns;
};

struct wait {
	__u64 ns, runnable_ns;
};

static struct wait_settings wait_settings;

#define WAIT_STATE_BPF_H /* the kernel's, instead of which there are those above */

#include "sched/wait_windows.bpf.h"

/* A wait from 1000 to 2000: when a window was cut, when it was woken, and what is left of it. */
static const struct {
	const char *name;
	__u64 cut_ns, wake_ns;
	enum wait_part part;
	__u64 ns, runnable_ns;
} cases[] = {
	{ "what a window has counted is taken off", 1400, 1600, PART_ALL, 600, 400 },
	{ "cut after the wakeup", 1700, 1600, PART_ALL, 300, 300 },
	{ "then nothing is left of the blocked part", 1700, 1600, PART_BLOCKED, 0, 0 },
	{ "an earlier wait's cut is none of this one", 900, 0, PART_ALL, 1000, 0 },
	/* The clock was read before it ended. */
	{ "a window that has ended meanwhile", 2003, 1600, PART_ALL, 0, 0 },
	{ "... for the runnable part", 2003, 1600, PART_RUNNABLE, 0, 0 },
	{ "... for the blocked part", 2003, 1600, PART_BLOCKED, 0, 0 },
};

TEST(what_windows_have_counted_is_taken_off)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct task_state state = { cases[i].cut_ns, cases[i].wake_ns };
		struct wait wait;

		wait_settings = (struct wait_settings){
			.max_ns = ~0ULL,
			.part = cases[i].part,
			.has_windows = true,
		};
		wait_measure(&wait, 1000, cases[i].wake_ns, 2000);
		wait_take_off(&wait, &state, 1000, 2000);
		CHECK_CASE(cases[i].name, wait.ns, cases[i].ns);
		CHECK_CASE(cases[i].name, wait.runnable_ns, cases[i].runnable_ns);
	}
}
