// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which code faults memory in, and from which files? Counts minor and major page faults by stack,
 * process or file; or measures how long the kernel takes to handle them.
 */
#include <errno.h>
#include <unistd.h>

#include "abi/pagefaults.h"
#include "base/array.h"
#include "base/msg.h"
#include "modules/numbers.h"
#include "modules/histograms.h"
#include "modules/target.h"
#include "modules/taskstate.h"
#include "output/remarks.h"
#include "pagefaults/faultevents.h"
#include "pagefaults/faulttable.h"
#include "run/bpfmap.h"
#include "run/features.h"
#include "run/tool.h"
#include "stacks/stacks.h"
#include "stacks/unwind_maps.h"

#include "pagefaults.skel.h"

struct options {
	bool latency;
	struct fault_columns columns;
};

static const struct opt opts[] = {
	{ 'P', "by-process", NULL, OPT_FLAG(struct options, columns.process),
	  "print a table of processes (default on a terminal)" },
	{ 0, "by-file", NULL, OPT_FLAG(struct options, columns.area),
	  "print a table of files and kinds of memory (-P: per process)" },
	{ 'L', "latency", NULL, OPT_FLAG(struct options, latency),
	  "print histograms of fault latency (-P: per process)", "by-file" },
	{},
};

static bool wants_latency(const struct run *run)
{
	return ((const struct options *)run->options)->latency;
}

static const struct fault_columns *columns(const struct run *run)
{
	return &((const struct options *)run->options)->columns;
}

static bool wants_table(const struct run *run)
{
	return !wants_latency(run) &&
	       (columns(run)->process || columns(run)->area || run->is_metrics);
}

static bool wants_stacks(const struct run *run)
{
	return !wants_latency(run) && !wants_table(run);
}

static const char *programs(const struct run *run)
{
	return wants_stacks(run) ? "stack" : wants_table(run) ? "row" : NULL;
}

static const struct hist_grouping *grouping(const struct run *run)
{
	static const char *const severities[] = { "minor", "major" };
	static const struct hist_grouping by_severity = { "fault", .names = severities };
	static const struct hist_grouping by_process = { "pid", .with_comm = true };
	return columns(run)->process ? &by_process : &by_severity;
}

static const char *const remarks[] = {
	[FAULT_IN_KERNEL] = REMARK_KERNEL_MODE,
	[FAULT_MAJOR] = REMARK_MAJOR,
	[FAULT_IN_KERNEL | FAULT_MAJOR] = REMARK_KERNEL_MODE_MAJOR,
};

static const struct faultevents_spec events = { .programs = programs };
static const struct stacks_spec stacks = { .remarks = remarks, .n_remarks = ARRAY_SIZE(remarks) };
static const struct histograms_spec histograms = {
	.metric = { "tracelets_pagefaults_seconds",
		    "Time that the kernel took to handle page faults." },
	.grouping = grouping,
};
static const struct faulttable_spec table = { .columns = columns };

/* Selects a table for a terminal: the stacks of all faults fill many pages. */
static int check(struct run *run)
{
	bool is_for_people = !run->output_path && !run->format && isatty(STDOUT_FILENO);
	struct options *options = run->options;

	if (!stacks_options_are_given(run))
		options->columns.process |= is_for_people && wants_stacks(run);
	else if (!wants_stacks(run))
		return msg_error("-P, --by-file and -L exclude options for stacks");
	if (!wants_latency(run) && histograms_refuse_units(run, "without -L"))
		return -EINVAL;
	return wants_stacks(run) ? histograms_refuse(run, "without -P, --by-file or -L") : 0;
}

static int check_latency(void)
{
	int err = features_fentry("handle_mm_fault");

	return err ? msg_errno(err, "-L: attach to handle_mm_fault() failed") : 0;
}

static int configure(struct run *run)
{
	const struct options *options = run->options;
	struct pagefaults_bpf *skel = run->skeleton;

	skel->rodata->settings.kinds = faults_wanted_kinds(run);
	skel->rodata->settings.minor = faults_want_minor(run);
	skel->rodata->settings.major = faults_want_major(run);
	skel->rodata->settings.by_process = options->columns.process;
	skel->rodata->settings.by_area = options->columns.area;
	skel->rodata->settings.has_turns = run_has_turns(run);
	if (options->latency)
		return check_latency();
	program_leave_out(run, "latency_begin");
	program_leave_out(run, "latency_end");
	return 0;
}

static int start(struct run *run)
{
	return wants_latency(run) ? taskstate_visit(run, 0, NULL, NULL) : 0;
}

static int report(struct run *run)
{
	faults_count_missed(run);
	if (wants_stacks(run))
		return stacks_report(run);
	return wants_table(run) ? faulttable_report(run) : histograms_report(run);
}

DEFINE_SKELETON(pagefaults);

static const struct tool pagefaults = {
	.name = "pagefaults",
	.summary = "Counts page faults, to show which code and files need memory.",
	.examples = "  pagefaults 5                          # processes, every 5 seconds\n"
		    "  pagefaults -p 185 10 1 | flamegraph.pl  # where in the code\n"
		    "  pagefaults --by-file --major          # which files are read\n"
		    "  pagefaults -L 10 1                    # how long faults take\n",
	.usual = "pid container by-process by-file latency major folded format output top",
	.unit = "faults",
	.operands = OPERANDS_INTERVAL,
	.tid_letter = 't',
	.opts = opts,
	.options = ZEROES(struct options),
	.modules = { { &target_module },
		     { &faultevents_module, &events },
		     { &stacks_module, &stacks, wants_stacks },
		     { &stacks_top_module },
		     { &unwind_module, NULL, stacks_want_user },
		     { &histograms_module, &histograms, wants_latency },
		     { &taskstate_module, NULL, wants_latency },
		     { &faulttable_module, &table, wants_table },
		     { &numbers_module } },
	.skeleton = &skeleton,
	.check = check,
	.configure = configure,
	.start = start,
	.report = report,
};

int main(int argc, char **argv)
{
	return tool_main(&pagefaults, argc, argv);
}
