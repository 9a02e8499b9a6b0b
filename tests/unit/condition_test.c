// SPDX-License-Identifier: GPL-2.0-only
/* Conditions of --when that a test can fulfil by itself. */
#include "run/condition.h"
#include "unit.h"

static int n_held;

static void note(const char *reason, void *arg)
{
	(void)arg;
	CHECK_HAS(reason, "cpu>1: ");
	n_held++;
}

/* The last interval may have a few milliseconds; the machine's CPU time is counted in ticks. */
TEST(short_intervals_are_too_short_for_cpu_time)
{
	static const struct condition_target machine;
	struct conditions conditions = { .target = &machine, .holds = note };

	CHECK_EQ(conditions_parse("--when", "cpu>1", &conditions), 0);
	CHECK_EQ(conditions_open(&conditions), 0);
	conditions.list[0].cpu_ns = 0; /* all time since the boot is used in this interval */
	conditions_test(&conditions);
	CHECK_EQ(n_held, 0);
	usleep(100000);
	conditions_test(&conditions);
	CHECK_EQ(n_held, 1);
	conditions_close(&conditions);
}
