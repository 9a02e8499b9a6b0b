// SPDX-License-Identifier: GPL-2.0-only
/*
 * How long do threads run before they leave the CPU? Measures each time slice, whether it ends
 * because the thread waits or because another one takes the CPU, as a histogram.
 */
#include "modules/histograms.h"
#include "modules/numbers.h"
#include "modules/target.h"
#include "modules/taskstate.h"
#include "run/tool.h"

#include "slices.skel.h"

struct options {
	bool by_process;
};

static const struct options defaults;

static const struct opt opts[] = {
	{ 'P', "pids", NULL, OPT_FLAG(struct options, by_process),
	  "print a histogram per process" },
	{},
};

static const struct hist_grouping *grouping(const struct run *run)
{
	static const struct hist_grouping by_process = { "pid", .with_comm = true };
	const struct options *options = run->options;

	return options->by_process ? &by_process : NULL;
}

static const struct histograms_spec histograms = { .grouping = grouping };

static int configure(struct run *run)
{
	const struct options *options = run->options;
	struct slices_bpf *skel = run->skeleton;

	skel->rodata->by_process = options->by_process;
	return 0;
}

static int start(struct run *run)
{
	return taskstate_visit(run, 0, NULL, NULL);
}

DEFINE_SKELETON(slices);

static const struct tool slices = {
	.name = "slices",
	.summary = "Shows how long threads run before they leave the CPU, as a histogram.",
	.examples = "  slices 5        # a histogram every 5 seconds\n"
		    "  slices -P 1     # one for each process\n",
	.usual = "pid comm cgroup container pids milliseconds timestamp duration format output",
	.unit = "slices",
	.operands = OPERANDS_INTERVAL,
	.opts = opts,
	.options = DEFAULTS(defaults),
	.modules = { { &target_module },
		     { &taskstate_module },
		     { &histograms_module, &histograms },
		     { &numbers_module } },
	.skeleton = &skeleton,
	.configure = configure,
	.start = start,
	.report = histograms_report,
};

int main(int argc, char **argv)
{
	return tool_main(&slices, argc, argv);
}
