// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where do threads wait, and for how long? Measures from a thread's switch-out to its switch-in,
 * splits the time at its wake-up into blocked and runnable, and totals it per stack.
 */

#include "abi/waits.h"
#include "base/clock.h"
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
	bool waker, blocked, runnable, throttled, no_idle;
	struct wait_states states;
};

static const struct options defaults = { .states.letters = UINT32_MAX };

static const struct opt opts[] = {
	{ 0, "state", "LETTERS|MASK", OPT_PARSED(struct options, states, wait_states_parse),
	  "count only waits in these states (letters of ps, or a mask)" },
	{ 0, "blocked", NULL, OPT_FLAG(struct options, blocked),
	  "count only the time until the wake-up", "runnable" },
	{ 0, "runnable", NULL, OPT_FLAG(struct options, runnable),
	  "count only the time from the wake-up on" },
	{ 0, "waker", NULL, OPT_FLAG(struct options, waker), "show the waker's stack, too" },
	{ 0, "throttled", NULL, OPT_FLAG(struct options, throttled),
	  "show time lost to CPU quotas as [throttled]", "blocked" },
	{ 0, "no-idle", NULL, OPT_FLAG(struct options, no_idle),
	  "fold idle waits (pools, event loops) into [idle]", "kernel-stacks-only" },
	{},
};

static const struct column columns[] = { { .name = "runnable", .rest = "blocked" }, {} };
static const struct stacks_spec stacks = {
	.raw_unit = "nanoseconds",
	.divisor = NS_PER_US,
	.remarks = wait_remarks,
	.n_remarks = WAIT_REMARKS,
	.are_waits = true,
	.has_events = true,
	.columns = columns,
	.throughout_remark = WAIT_AT_START | WAIT_AT_END,
	.walkers = wait_walkers,
	.group_mark = goroutine_waits_mark,
	.shows = goroutine_waits_show,
	.add_metrics = wait_metrics_add,
};

static int check(struct run *run)
{
	static const char *const about_stacks[] = { "no-idle", "waker", NULL };

	return run_refuse_in_metrics(run, about_stacks);
}

static int configure(struct run *run)
{
	const struct options *options = run->options;
	struct wait_settings settings = {
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
	.modules = { { &waits_module },
		     { &target_module },
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
	.start_more = waits_start_more,
	.report = report,
};

int main(int argc, char **argv)
{
	return wants_locks(argc, argv) ? run_locks(argc, argv) : tool_main(&offcputime, argc, argv);
}
