// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which locks do threads wait for, and which threads release them? Measures waits for user-space
 * locks (futexes) and for kernel locks (contention events), and totals them per lock.
 */
#include "abi/waits.h"
#include "base/clock.h"
#include "locks/lock_report.h"
#include "modules/target.h"
#include "modules/taskstate.h"
#include "output/writer.h"
#include "run/tool.h"
#include "stacks/stacks.h"
#include "stacks/unwind_maps.h"
#include "stacks/waits.h"

#include "locks.skel.h"

struct options {
	bool waker;
};

static const struct opt opts[] = {
	{ 0, "waker", NULL, OPT_FLAG(struct options, waker),
	  "show stacks of threads that released the lock" },
	{},
};

static const struct writer *usual_writer(const struct run *run)
{
	(void)run;
	return &text_writer;
}

static const struct column columns[] = { { .name = "runnable", .rest = "blocked" },
					 { .name = "waits" },
					 {} };
static const char *const walkers[] = { "locks_switch", "locks_waking", "locks_contention_end",
				       NULL };
static const struct stacks_spec stacks = {
	.raw_unit = "nanoseconds",
	.divisor = NS_PER_US,
	.remarks = wait_remarks,
	.n_remarks = WAIT_REMARKS,
	.are_waits = true,
	.columns = columns,
	.source = &lock_source,
	.needs_kernel = true, /* kernel stacks show the function that waited */
	.usual_writer = usual_writer,
	.throughout_remark = WAIT_AT_START | WAIT_AT_END,
	.walkers = walkers,
};

/* Selects interruptible sleep, in which threads wait for futexes. */
static int configure(struct run *run)
{
	const struct options *options = run->options;
	struct wait_settings settings = {
		.states = 1U << STATE_INTERRUPTIBLE,
		.waker = options->waker,
	};

	return waits_set_settings(run, &settings);
}

/* Counts waits that continue up to now, and reports. */
static int report(struct run *run)
{
	int err = run->is_peek ? 0 : waits_end_window(run);

	return err ? err : stacks_report(run);
}

DEFINE_SKELETON(locks);

static const struct tool locks = {
	.name = "locks",
	.summary = "Totals waits per lock, to show which locks threads wait for, and who has them.",
	.examples = "  locks -p 185 10            # locks of a process\n"
		    "  locks --waker -p 185 10    # and the code that released them\n"
		    "  locks --output locks.svg 5 # a flame graph, locks at the root\n"
		    "  locks -m 10000             # everywhere, waits of at least 10 ms\n",
	.usual = "pid comm container min-block-time waker without-throughout duration interval "
		 "format output",
	.unit = "microseconds",
	.sums = true,
	.operands = OPERANDS_DURATION,
	.tid_letter = 't',
	.opts = opts,
	.options = ZEROES(struct options),
	.modules = { { &waits_module },
		     { &target_module },
		     { &taskstate_module },
		     { &stacks_module, &stacks },
		     { &lock_report_module },
		     { &unwind_module, NULL, stacks_want_user } },
	.skeleton = &skeleton,
	.configure = configure,
	.start = waits_start,
	.start_more = waits_start_more,
	.report = report,
};

int main(int argc, char **argv)
{
	return tool_main(&locks, argc, argv);
}
