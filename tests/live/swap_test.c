// SPDX-License-Identifier: GPL-2.0-only
/* Two functions that take turns at one address: each has what it has done itself. */
#include "live.h"

#define ROUNDS	   at_size(61, 11)
#define SWAP_BYTES 1009
#define FREQUENCY  "999"

static const char *const ways[] = { "unmap", "fixed", "made" };

/* Returns true if the kernel reports the swap: before 6.1 not of code at a fixed address. */
static bool is_seen(const char *way)
{
	return strcmp(way, "fixed") || !access("/sys/kernel/tracing/events/maple_tree", F_OK);
}

static void trace_swaps(const char *const argv[],
			void (*check)(const struct proc *work, const struct proc *tool))
{
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		struct proc *work = work_start("swap", ways[i], text_of("%d", ROUNDS)), *tool;
		const char *args[16] = { argv[0], "-p", pid_text(work->pid) };

		for (size_t k = 1; argv[k]; k++)
			args[k + 2] = argv[k];
		tool = trace_work(work, args);
		unlink(text_of("/tmp/perf-%d.map", work->pid));
		CHECK_EQ(work_value(work->out, "swap", "same"), 1);
		if (is_seen(ways[i]))
			check(work, tool);
	}
}

#define FIRST(tool, below)  folded_sum((tool)->out, "swap", "swap_first;swap_deed" below)
#define SECOND(tool, below) folded_sum((tool)->out, "swap", "swap_second;swap_deed" below)

static void check_shares(const struct proc *work, const struct proc *tool, const char *unit,
			 uint64_t first, uint64_t second, uint64_t permille)
{
	uint64_t true_first = work_value(work->out, "swap", text_of("first_%s", unit));
	uint64_t true_second = work_value(work->out, "swap", text_of("second_%s", unit));

	if (!at_size(1, 0)) /* too few for shares; the loader may be behind all the time */
		return;
	CHECK(first && second);
	CHECK_CLOSE(first * (true_first + true_second), true_first * (first + second), permille);
	CHECK_EQ(folded_sum(tool->out, "swap", "[unknown];swap_deed"), 0);
}

static void check_samples(const struct proc *work, const struct proc *tool)
{
	check_shares(work, tool, "cpu_us", FIRST(tool, ""), SECOND(tool, ""),
		     (uint64_t)at_size(250, 500));
}

TEST(samples_are_of_the_function_that_was_there)
{
	trace_swaps(ARGV("profile", "-U", "-F", FREQUENCY), check_samples);
}

static void check_waits(const struct proc *work, const struct proc *tool)
{
	check_shares(work, tool, "slept_us", FIRST(tool, ";work_sleep"),
		     SECOND(tool, ";work_sleep"), 250);
}

TEST(waits_are_of_the_function_that_was_there)
{
	trace_swaps(ARGV("offcputime", "-U"), check_waits);
}

static void check_time(const struct proc *work, const struct proc *tool)
{
	check_waits(work, tool);
	check_samples(work, tool);
}

TEST(all_time_is_of_the_function_that_was_there)
{
	trace_swaps(ARGV("profile", "--wall", "-U", "-F", FREQUENCY), check_time);
}

/* Until the loader has met the perf map, code that was made there has no name. */
static void check_faults(const struct proc *work, const struct proc *tool)
{
	(void)work;
	if (faults_missed(tool) || events_missed(tool))
		return;
	CHECK_EQ(FIRST(tool, ";swap_touch") + SECOND(tool, ";swap_touch") +
			 folded_sum(tool->out, "swap", "[anon];swap_deed;swap_touch"),
		 8 * (uint64_t)ROUNDS);
	CHECK(FIRST(tool, ";swap_touch") <= 3 * (uint64_t)ROUNDS);
	CHECK(SECOND(tool, ";swap_touch") <= 5 * (uint64_t)ROUNDS);
}

TEST(page_faults_are_of_the_function_that_was_there)
{
	trace_swaps(ARGV("pagefaults", "-U", "-f"), check_faults);
}

static void check_blocks(const struct proc *work, const struct proc *tool)
{
	(void)work;
	CHECK_EQ(FIRST(tool, ";swap_keep") + SECOND(tool, ";swap_keep") +
			 folded_sum(tool->out, "swap", "[anon];swap_deed;swap_keep"),
		 8 * SWAP_BYTES * (uint64_t)ROUNDS);
	CHECK(FIRST(tool, ";swap_keep") <= 3 * SWAP_BYTES * (uint64_t)ROUNDS);
	CHECK(SECOND(tool, ";swap_keep") <= 5 * SWAP_BYTES * (uint64_t)ROUNDS);
}

TEST_UNLESS(memleak_lacks, blocks_are_of_the_function_that_was_there)
{
	trace_swaps(ARGV("memleak", "-f", "-o", "0"), check_blocks);
}
