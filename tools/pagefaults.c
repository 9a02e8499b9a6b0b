// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who faults memory in, and on what? Counts page faults, minor and major apart, by stack, by
 * process or by file; or measures how long the kernel takes to handle them.
 */
#include <errno.h>
#include <unistd.h>

#include "run/bpfmap.h"
#include "pagefaults/faultevents.h"
#include "pagefaults/faulttable.h"
#include "modules/histograms.h"
#include "base/mem.h"
#include "base/msg.h"
#include "run/features.h"
#include "stacks/stacks.h"
#include "modules/target.h"
#include "modules/taskstate.h"
#include "run/tool.h"
#include "stacks/user_stacks.h"

#include "pagefaults.skel.h"

static bool latency;
static struct fault_columns columns;
static enum { BY_STACK, BY_KEY, LATENCY } output;

static const struct opt opts[] = {
	{ 'P', "by-process", NULL, OPT_FLAG(&columns.process),
	  "a table of processes (default on a terminal)" },
	{ 0, "by-file", NULL, OPT_FLAG(&columns.area),
	  "a table of files and kinds of memory; with -P, of each process's" },
	{ 'L', "latency", NULL, OPT_FLAG(&latency),
	  "histograms of how long faults take; with -P, of each process's", "by-file" },
	{},
};

static const struct hist_grouping by_severity = { "fault", .names = (const char *const[]){
								   "minor", "major" } };
static const struct hist_grouping by_process = { "pid", .with_comm = true };

/* A terminal gets a table: the stacks of all faults are many pages. */
static int check(struct run *run)
{
	bool is_for_people = !run->output_path && !run->is_json && isatty(STDOUT_FILENO);

	if (stacks_are_asked_for() && (columns.process || columns.area || latency))
		return msg_error("-P, --by-file and -L exclude the options about stacks");
	if (is_for_people && !stacks_are_asked_for() && !columns.area && !latency)
		columns.process = true;
	output = latency ? LATENCY : columns.process || columns.area ? BY_KEY : BY_STACK;
	if (output != LATENCY)
		hists_leave_out();
	if (output != BY_STACK)
		stacks_leave_out();
	hists_set_grouping(columns.process ? &by_process : &by_severity);
	return 0;
}

/* The latency needs more of the kernel than counting does. */
static int check_fentry(void)
{
	int err = offers_fentry("handle_mm_fault");

	if (err)
		msg_errno(err, "-L: this kernel lets no program be attached to handle_mm_fault()");
	return err;
}

static void choose_programs(const struct run *run)
{
	static const struct {
		const char *name;
		unsigned int output;
		bool (*is_wanted)(void);
	} programs[] = {
		{ "stack_minor", BY_STACK, faults_want_minor },
		{ "stack_major", BY_STACK, faults_want_major },
		{ "row_minor", BY_KEY, faults_want_minor },
		{ "row_major", BY_KEY, faults_want_major },
		{ "latency_begin", LATENCY, NULL },
		{ "latency_end", LATENCY, NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(programs); i++)
		if (output != programs[i].output ||
		    (programs[i].is_wanted && !programs[i].is_wanted()))
			program_leave_out(run, programs[i].name);
}

static int configure(struct run *run)
{
	struct pagefaults_bpf *skel = run->skeleton;

	skel->rodata->settings.kinds = faults_wanted_kinds();
	skel->rodata->settings.minor = faults_want_minor();
	skel->rodata->settings.major = faults_want_major();
	skel->rodata->settings.by_process = columns.process;
	skel->rodata->settings.by_area = columns.area;
	skel->rodata->settings.has_turns = run->interval_ns != 0;
	choose_programs(run);
	faulttable_configure(run, output == BY_KEY ? &columns : NULL);
	if (output == LATENCY)
		return check_fentry() ? -EIO : taskstate_configure(run);
	taskstate_leave_out(run);
	return 0;
}

static int start(struct run *run)
{
	int err;

	if (output == LATENCY)
		return taskstate_visit(run, 0, NULL, NULL);
	err = output == BY_KEY ? faulttable_start(run) : 0;
	return err ? err : faultevents_attach(run, output == BY_KEY ? "row" : "stack");
}

static int report(struct run *run)
{
	if (output == BY_STACK)
		return stacks_report(run);
	return output == BY_KEY ? faulttable_report(run) : hists_report(run);
}

DEFINE_SKELETON(pagefaults);

static const struct tool pagefaults = {
	.name = "pagefaults",
	.summary = "Counts page faults, to show who needs memory, and which.",
	.examples =
		"  pagefaults 5                          # processes, every 5 seconds\n"
		"  pagefaults -p 185 | flamegraph.pl     # where one process faults memory in\n"
		"  pagefaults --by-file --major          # which files are read from disk for it\n"
		"  pagefaults -L 10 1                    # how long faults take\n",
	.unit = "faults",
	.operands = OPERANDS_INTERVAL,
	.tid_letter = 't',
	.opts = opts,
	.modules = { &target_module, &faultevents_module, &stacks_module, &stacks_top_module,
		     &unwind_module, &hists_module },
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
