// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where do threads wait, and for how long? Measures from a thread's switch-out to its switch-in,
 * splits the time at its wake-up into blocked and runnable, and totals it per stack.
 */

#include "abi/waits.h"
#include "base/clock.h"
#include "base/msg.h"
#include "modules/numbers.h"
#include "modules/kernel_tables.h"
#include "modules/target.h"
#include "modules/taskstate.h"
#include "offcputime/locks_alias.h"
#include "offcputime/wait_states.h"
#include "run/tool.h"
#include "stacks/goroutine_waits.h"
#include "stacks/stacks.h"
#include "stacks/unwind_maps.h"
#include "stacks/waits.h"

struct options {
	bool user_threads, kernel_threads, blocked, runnable, waker, throttled, without_throughout,
		no_idle;
	uint64_t min_ns, max_ns;
	struct wait_states states;
};

static const struct options defaults = { .max_ns = UINT64_MAX, .states.letters = UINT32_MAX };

static const struct opt opts[] = {
	{ 'u', "user-threads-only", NULL, OPT_FLAG(struct options, user_threads),
	  "skip kernel threads", "kernel-threads-only" },
	{ 'k', "kernel-threads-only", NULL, OPT_FLAG(struct options, kernel_threads),
	  "skip user threads" },
	{ 'm', "min-block-time", "USEC", OPT_DURATION(struct options, min_ns, NS_PER_US),
	  "count only waits of at least USEC" },
	{ 'M', "max-block-time", "USEC", OPT_DURATION(struct options, max_ns, NS_PER_US),
	  "count only waits of at most USEC" },
	{ 0, "state", "LETTERS|MASK", OPT_PARSED(struct options, states, wait_states_parse),
	  "count only waits in these states (letters of ps, or a mask)" },
	{ 0, "blocked", NULL, OPT_FLAG(struct options, blocked),
	  "count only the time until the wake-up", "runnable" },
	{ 0, "runnable", NULL, OPT_FLAG(struct options, runnable),
	  "count only the time from the wake-up on" },
	{ 0, "waker", NULL, OPT_FLAG(struct options, waker), "show the waker's stack, too" },
	{ 0, "throttled", NULL, OPT_FLAG(struct options, throttled),
	  "show time lost to CPU quotas as [throttled]", "blocked" },
	{ 'x', "without-throughout", NULL, OPT_FLAG(struct options, without_throughout),
	  "skip threads blocked for the whole run" },
	{ 0, "no-idle", NULL, OPT_FLAG(struct options, no_idle),
	  "fold idle waits (pools, event loops) into [idle]", "kernel-stacks-only" },
	{},
};

static unsigned int threads(const struct run *run)
{
	const struct options *options = run->options;

	return options->user_threads ? FILTER_USER : options->kernel_threads ? FILTER_KERNEL : 0;
}

/* Returns true with --waker: kernel stacks show whether a task or an interrupt woke the thread. */
static bool needs_kernel(const struct run *run)
{
	return run_given(run, "waker");
}

static unsigned int hidden_remark(const struct run *run)
{
	return run_given(run, "without-throughout") ? WAIT_AT_START | WAIT_AT_END : 0;
}

static bool folds_idle(const struct run *run)
{
	return ((const struct options *)run->options)->no_idle;
}

static const struct target_spec target = { .threads = threads };
static const struct column columns[] = { { .name = "runnable", .rest = "blocked" }, {} };
static const struct stacks_spec stacks = {
	.raw_unit = "nanoseconds",
	.divisor = NS_PER_US,
	.remarks = wait_remarks,
	.n_remarks = WAIT_REMARKS,
	.are_waits = true,
	.has_events = true,
	.folds_idle = folds_idle,
	.columns = columns,
	.needs_kernel = needs_kernel,
	.hidden_remark = hidden_remark,
	.walkers = wait_walkers,
	.group_mark = goroutine_waits_mark,
	.shows = goroutine_waits_show,
	.add_metrics = wait_metrics_add,
};

static int check(struct run *run)
{
	static const char *const about_stacks[] = { "no-idle", "waker", NULL };
	const struct options *options = run->options;

	if (options->min_ns > options->max_ns)
		return msg_error("--min-block-time is longer than --max-block-time");
	return run_refuse_in_metrics(run, about_stacks);
}

static int configure(struct run *run)
{
	const struct options *options = run->options;
	struct wait_settings settings = {
		.min_ns = options->min_ns,
		.max_ns = options->max_ns,
		.states = options->states.letters,
		.state_mask = options->states.mask,
		.waker = options->waker,
		.throttled = options->throttled,
		.part = options->blocked    ? PART_BLOCKED
			: options->runnable ? PART_RUNNABLE
					    : PART_ALL,
	};

	return waits_configure(run, &settings);
}

static int start(struct run *run)
{
	int err = goroutine_waits_start(run);

	return err ? err : waits_start(run);
}

/* Counts waits that continue up to now, and reports. */
static int report(struct run *run)
{
	int err = run->is_peek ? 0 : waits_end_window(run);

	goroutine_waits_end_window(run);
	return err ? err : stacks_report(run);
}

static const struct tool offcputime = {
	.name = "offcputime",
	.summary = "Totals off-CPU time per stack, to show where threads wait.",
	.examples = "  offcputime -p 185 10 | flamegraph.pl   # as a flame graph\n"
		    "  offcputime -f 5                        # the whole system, folded\n"
		    "  offcputime --state D 10                # only uninterruptible waits\n"
		    "  offcputime --waker -p 185 10           # and who ended them\n",
	.usual = "pid container folded min-block-time state waker without-throughout no-idle "
		 "output top",
	.unit = "microseconds",
	.sums = true,
	.operands = OPERANDS_DURATION,
	.tid_letter = 't',
	.opts = opts,
	.options = DEFAULTS(defaults),
	.modules = { { &target_module, &target },
		     { &taskstate_module },
		     { &kernel_tables_module },
		     { &goroutines_module },
		     { &stacks_module, &stacks },
		     { &stacks_top_module },
		     { &unwind_module, NULL, stacks_want_user },
		     { &numbers_module } },
	.skeleton = &waits_skeleton,
	.check = check,
	.configure = configure,
	.start = start,
	.report = report,
};

int main(int argc, char **argv)
{
	return wants_locks(argc, argv) ? run_locks(argc, argv) : tool_main(&offcputime, argc, argv);
}
