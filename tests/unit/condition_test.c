// SPDX-License-Identifier: GPL-2.0-only
/* Conditions of --when that a test can fulfil by itself. */
#include "base/clock.h"
#include "run/condition.h"
#include "unit.h"

static int n_held;

static void note(const char *reason, void *arg)
{
	(void)arg;
	CHECK_HAS(reason, "cpu>1: ");
	n_held++;
}

/*
 * The last interval may have a few milliseconds; the machine's CPU time is counted in ticks. A test
 * that took longer proves nothing.
 */
TEST(short_intervals_are_too_short_for_cpu_time)
{
	static const struct condition_target machine;
	struct conditions conditions = { .target = &machine, .holds = note };
	uint64_t begin_ns = clock_now_ns();

	CHECK_EQ(conditions_parse("--when", "cpu>1", &conditions), 0);
	CHECK_EQ(conditions_open(&conditions), 0);
	conditions.list[0].cpu_ns = 0; /* all time since the boot is used in this interval */
	conditions_test(&conditions);
	CHECK(!n_held || clock_now_ns() - begin_ns > 50 * NS_PER_MS);
	usleep(100000);
	conditions_test(&conditions);
	CHECK(n_held > 0);
	conditions_close(&conditions);
}
