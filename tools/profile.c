// SPDX-License-Identifier: GPL-2.0-only
/*
 * Samples the running task on every CPU at a fixed rate and counts its user and kernel stacks. With
 * --wall, adds the threads' waits, measured like offcputime's.
 */
#include "modules/kernel_tables.h"
#include "modules/sampler.h"
#include "modules/target.h"
#include "modules/taskstate.h"
#include "profile/wall.h"
#include "run/tool.h"
#include "stacks/goroutine_waits.h"
#include "stacks/stacks.h"
#include "stacks/unwind_maps.h"
#include "stacks/waits.h"

#include "profile.skel.h"

struct options {
	bool annotate, include_idle, per_cpu, per_thread;
};

static const struct opt opts[] = {
	{ 'a', "annotations", NULL, OPT_FLAG(struct options, annotate),
	  "append _[k] to the names of kernel frames" },
	{ 'I', "include-idle", NULL, OPT_FLAG(struct options, include_idle),
	  "sample the idle task, too" },
	{ 'A', "per-cpu", NULL, OPT_FLAG(struct options, per_cpu), "separate stacks per CPU" },
	{ 0, "per-thread", NULL, OPT_FLAG(struct options, per_thread),
	  "separate stacks per thread" },
	{},
};

static const struct stacks_spec stacks = {
	.hits_few = sampler_is_sparse,
	.has_events = true,
};
static const struct sampler_spec sampler = { .program = "profile_sample" };

static const struct stacks_spec wall_stacks = {
	WALL_STACKS,
	.has_events = true,
	.event_remarks = wait_remarks,
	.n_event_remarks = WAIT_REMARKS,
	.group_mark = goroutine_waits_mark,
	.shows = goroutine_waits_show,
	.walkers = wait_walkers,
};
static const struct sampler_spec wall_sampler = { .program = WAITS_SAMPLER };
static const struct taskstate_spec wall_taskstate = { .sees_ends = true };

static int configure(struct run *run)
{
	const struct options *options = run->options;
	struct profile_bpf *skel = run->skeleton;

	skel->rodata->include_idle = options->include_idle;
	skel->rodata->per_cpu = options->per_cpu;
	return 0;
}

DEFINE_SKELETON(profile);

static int report(struct run *run)
{
	sampler_count_missed(run);
	return stacks_report(run);
}

static int start_wall(struct run *run)
{
	int err = goroutine_waits_start(run);

	if (!err)
		err = wall_start_page(run);
	return err ? err : waits_start(run);
}

static const struct tool wall = {
	.name = "profile",
	.unit = "microseconds",
	.sums = true,
	.operands = OPERANDS_DURATION,
	.modules = { { &target_module },
		     { &taskstate_module, &wall_taskstate },
		     { &kernel_tables_module },
		     { &goroutines_module },
		     { &stacks_module, &wall_stacks },
		     { &stacks_top_module },
		     { &unwind_module, NULL, stacks_want_user },
		     { &sampler_module, &wall_sampler },
		     { &wall_module } },
	.skeleton = &waits_skeleton,
	.start = start_wall,
	.start_more = waits_start_more,
	.report = wall_report,
};

static const struct tool profile = {
	.name = "profile",
	.summary = "Samples stacks at a fixed rate, to show where CPU time goes.",
	.examples = "  profile                          # everything, until Ctrl-C\n"
		    "  profile -p 185 5                 # one process, 5 seconds\n"
		    "  profile -f 10 | flamegraph.pl    # as a flame graph\n"
		    "  profile -F 499 -- make           # a command, start to end\n"
		    "  profile --wall -p 185 5          # time off CPU, too\n",
	.usual = "pid container unit frequency folded format output only wall top",
	.unit = "samples",
	.operands = OPERANDS_DURATION,
	.tid_letter = 'L',
	.opts = opts,
	.options = ZEROES(struct options),
	.modules = { { &target_module },
		     { &taskstate_module, NULL, wall_is_asked_for },
		     { &kernel_tables_module, NULL, wall_is_asked_for },
		     { &goroutines_module, NULL, wall_is_asked_for },
		     { &stacks_module, &stacks },
		     { &stacks_top_module },
		     { &unwind_module, NULL, stacks_want_user },
		     { &sampler_module, &sampler },
		     { &wall_module, NULL, wall_is_asked_for } },
	.skeleton = &skeleton,
	.configure = configure,
	.report = report,
	.other = &wall,
	.wants_other = wall_is_asked_for,
};

int main(int argc, char **argv)
{
	return tool_main(&profile, argc, argv);
}
