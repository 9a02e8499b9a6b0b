// SPDX-License-Identifier: GPL-2.0-only
/*
 * Thousands of processes that live for a millisecond or two: most are gone when the loader learns of
 * them, and still their stacks have the right names, from _start to the innermost function.
 */
#include <string.h>
#include <unistd.h>

#include "live.h"

#define LANES	"3"
#define NAP_US	300 /* each process sleeps once, at least that long */
#define LEAF	"main;brief_outer;brief_middle;brief_leaf"
#define UNKNOWN "[unknown]"

static int count_processes(void)
{
	return at_size(10007, 211);
}

/* Less than that share, in per mille, may have no name or no way to its outermost frame. */
static int most_missing(void)
{
	return at_size(10, 100);
}

/* The value of a process's stacks; those without a frame, in the middle of exec, are none. */
static uint64_t sum_of_stacks(const char *text, const char *comm)
{
	const char *bare = text_of("\n%s ", comm), *at = strstr(text, bare);
	uint64_t none = 0;

	if (!strncmp(text, bare + 1, strlen(bare) - 1))
		none = strtoull(text + strlen(bare) - 1, NULL, 10);
	else if (at)
		none = strtoull(at + strlen(bare), NULL, 10);
	return folded_sum(text, comm, NULL) - none;
}

static void check_named(const struct proc *tool, const char *comm)
{
	uint64_t all = sum_of_stacks(tool->out, comm);
	uint64_t unknown = folded_sum(tool->out, comm, UNKNOWN);

	CHECK_STATUS(tool, 0);
	CHECK(all > 0);
	if (unknown * 1000 > all * (uint64_t)most_missing())
		UNIT_FAIL("%s: %llu of %llu have unknown frames: %s %s", tool->name,
			  (unsigned long long)unknown, (unsigned long long)all,
			  folded_find(tool->out, comm, UNKNOWN), tool->err);
}

/* All that is not on the way to main() is the dynamic linker's. */
static void check_whole(const struct proc *tool, const char *comm)
{
	uint64_t all = sum_of_stacks(tool->out, comm);
	uint64_t whole = folded_sum(tool->out, comm, "_start") +
			 folded_sum(tool->out, comm, "_dl_start_user");

	if ((all - whole) * 1000 > all * (uint64_t)most_missing())
		UNIT_FAIL("%s: %llu of %llu are whole: %.500s %s", tool->name,
			  (unsigned long long)whole, (unsigned long long)all, tool->out, tool->err);
}

/* Each process's stacks count apart. */
static const char *table_size(void)
{
	return text_of("%d", at_size(1 << 18, 1 << 16));
}

struct traced {
	struct proc *profile, *offcputime;
	uint64_t n;
};

static struct traced trace(const char *program)
{
	struct proc *work = work_start("brief", text_of("%d", count_processes()), LANES, program);
	struct traced t = {
		.profile = tool_start("profile", "-U", "-F", "997", "--stack-storage-size",
				      table_size()),
		.offcputime = tool_start("offcputime", "-U", "--stack-storage-size", table_size()),
	};

	work_do(work);
	tool_stop(t.profile);
	tool_stop(t.offcputime);
	t.n = work_value(work->out, "starter", "ended");
	CHECK_EQ(t.n, count_processes());
	return t;
}

TEST(processes_that_live_for_a_millisecond_have_their_names)
{
	struct traced t = trace(NULL);
	uint64_t computing, asleep_us;

	check_named(t.profile, "brief");
	check_whole(t.profile, "brief");
	check_named(t.offcputime, "brief");
	check_whole(t.offcputime, "brief");
	computing = folded_sum(t.profile->out, "brief", LEAF);
	CHECK(computing * 3 > sum_of_stacks(t.profile->out, "brief"));
	asleep_us = folded_sum(t.offcputime->out, "brief", LEAF ";work_sleep");
	if (asleep_us < t.n * NAP_US * (uint64_t)(1000 - most_missing()) / 1000)
		UNIT_FAIL("%llu us asleep are too few for %llu processes: %s",
			  (unsigned long long)asleep_us, (unsigned long long)t.n,
			  t.offcputime->err);
}

TEST(so_have_those_of_the_machine)
{
	struct traced t;

	if (access("/bin/true", X_OK))
		SKIP("no /bin/true");
	t = trace("/bin/true");
	check_named(t.profile, "true");
	check_named(t.offcputime, "true");
}
