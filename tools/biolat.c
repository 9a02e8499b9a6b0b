// SPDX-License-Identifier: GPL-2.0-only
/*
 * Is it the disk? Measures block requests from their issue to the driver to their completion and,
 * if requested, their time in the queue, as histograms; counts requests that fail or are in flight.
 */
#include "base/clock.h"
#include "biolat/groups.h"
#include "biolat/leftovers.h"
#include "biolat/slow.h"
#include "modules/histograms.h"
#include "modules/numbers.h"
#include "modules/target.h"
#include "run/tool.h"
#include "stacks/stacks.h"
#include "stacks/unwind_maps.h"

#include "biolat.skel.h"

static const struct opt opts[] = {
	{ 'Q', "queue", NULL, OPT_FLAG(struct groups, time),
	  "print histograms of time in queue, in device, and in total" },
	{ 'D', "per-disk", NULL, OPT_FLAG(struct groups, disk), "split by disk" },
	{ 'F', "per-operation", NULL, OPT_FLAG(struct groups, operation),
	  "split by operation (read, write, flush, ...)" },
	{ 'd', "disk", "DISK", OPT_PARSED(struct groups, device, groups_parse_disk),
	  "trace only this disk or partition" },
	{ 0, "layer", "disk|top", OPT_PARSED(struct groups, top, groups_parse_layer),
	  "count requests at disks (default), or bios at the top" },
	{ 0, "bytes", NULL, OPT_FLAG(struct groups, bytes), "print sizes and throughput, not times",
	  "queue" },
	{ 'P', "pids", NULL, OPT_FLAG(struct groups, process), "split by submitting process" },
	{ 0, "per-cgroup", NULL, OPT_FLAG(struct groups, cgroup), "split by cgroup (v2)" },
	{ 0, "per-container", NULL, OPT_FLAG(struct groups, container),
	  "split by container (from cgroup paths)" },
	{ 0, "slower", "MS", OPT_DURATION(struct groups, slower_ns, NS_PER_MS),
	  "print requests of at least MS, one per line", "bytes" },
	{ 0, "stacks", NULL, OPT_FLAG(struct groups, stacks),
	  "total device time per submitter's stack; also with --slower" },
	{},
};

static const struct hist_grouping *grouping(const struct run *run)
{
	return groups_find(run->options);
}

static const struct hist_unit *unit(const struct run *run)
{
	return ((const struct groups *)run->options)->bytes ? &hist_bytes : NULL;
}

static const struct histograms_spec histograms = {
	.metric = { "tracelets_biolat_request_seconds",
		    "Time of block requests, from their issue to their completion." },
	.grouping = grouping,
	.unit = unit,
	.in_interrupts = true,
};

static int report_lines(struct run *run)
{
	int err = events_report(run);

	if (!err && groups_want_stacks(run))
		stacks_end_events(run);
	return err;
}

static int report(struct run *run)
{
	int err;

	if (groups_want_lines(run))
		return report_lines(run);
	err = leftovers_read(run);
	if (!err && run->is_metrics)
		leftovers_report(run);
	if (!err)
		err = groups_are_stacks(run) ? stacks_report(run) : histograms_report(run);
	if (!err && !run->is_metrics)
		leftovers_report(run);
	return err;
}

DEFINE_SKELETON(biolat);

/* Programs that walk stacks; a run has one or two of them. */
static const char *const walkers[] = { "stack_start", "stack_insert", "stack_issue",
				       "stack_bio_start", NULL };
static const struct column columns[] = { { .name = "requests", .pprof = "requests" }, {} };

/* A request has its stack's id until it is completed, maybe for long, like a wait. */
static const struct stacks_spec stacks = {
	.raw_unit = "nanoseconds",
	.divisor = NS_PER_US,
	.type = "device",
	.are_waits = true,
	.columns = columns,
	.walkers = walkers,
};
static const struct stacks_spec stacks_of_lines = { .walkers = walkers };

/* clang-format off */
#define MODULES(stacks)                                          \
	{ { &target_module },                                    \
	  { &histograms_module, &histograms },                   \
	  { &leftovers_module },                                 \
	  { &slow_module, NULL, groups_want_lines },             \
	  { &events_module, &slow_events, groups_want_lines },   \
	  { &stacks_module, stacks, groups_want_stacks },        \
	  { &stacks_top_module },                                \
	  { &unwind_module, NULL, stacks_want_user },            \
	  { &numbers_module } }
/* clang-format on */

static const struct tool by_stack = {
	.name = "biolat",
	.unit = "microseconds",
	.sums = true,
	.operands = OPERANDS_INTERVAL,
	.modules = MODULES(&stacks),
	.skeleton = &skeleton,
	.check = groups_check,
	.configure = groups_configure,
	.report = report,
};

static const struct tool biolat = {
	.name = "biolat",
	.summary = "Shows how long disks take for requests, as a histogram.",
	.examples = "  biolat 5             # a histogram every 5 seconds\n"
		    "  biolat -Q 10 1       # is it the disk, or the queue before it?\n"
		    "  biolat -DF 10 1      # a histogram per disk and operation\n"
		    "  biolat -P 10 1       # whose requests?\n"
		    "  biolat -f 10 1 | flamegraph.pl  # from which code?\n"
		    "  biolat --slower 100  # single requests of 100 ms or more\n",
	.usual = "pid queue per-disk per-operation disk pids per-container folded format output",
	.unit = "requests",
	.operands = OPERANDS_INTERVAL,
	.letters = { { 'c', "cgroup" } },
	.opts = opts,
	.options = ZEROES(struct groups),
	.modules = MODULES(&stacks_of_lines),
	.skeleton = &skeleton,
	.check = groups_check,
	.configure = groups_configure,
	.report = report,
	.other = &by_stack,
	.wants_other = groups_are_stacks,
};

int main(int argc, char **argv)
{
	return tool_main(&biolat, argc, argv);
}
