// SPDX-License-Identifier: GPL-2.0-only
/*
 * How long do runnable threads wait for a CPU? Measures from a thread's wakeup or preemption to the
 * moment it runs; prints a histogram, or a line per long wait.
 */
#include "abi/runqlat.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/msg.h"
#include "modules/numbers.h"
#include "modules/histograms.h"
#include "modules/target.h"
#include "modules/taskstate.h"
#include "run/features.h"
#include "run/tool.h"
#include "runqlat/slowwaits.h"
#include "runqlat/throttled.h"

#include "runqlat.skel.h"

struct options {
	bool by_process, by_thread, by_pidns, by_cpu, by_cgroup, by_container, by_cause;
	uint64_t slower_ns;
};

static const struct opt opts[] = {
	{ 'P', "pids", NULL, OPT_FLAG(struct options, by_process), "split by process" },
	{ 'L', "tids", NULL, OPT_FLAG(struct options, by_thread), "split by thread" },
	{ 0, "pidnss", NULL, OPT_FLAG(struct options, by_pidns), "split by pid namespace" },
	{ 0, "per-cpu", NULL, OPT_FLAG(struct options, by_cpu), "split by CPU" },
	{ 0, "per-cgroup", NULL, OPT_FLAG(struct options, by_cgroup), "split by cgroup (v2)" },
	{ 0, "per-container", NULL, OPT_FLAG(struct options, by_container),
	  "split by container (from cgroup paths)" },
	{ 0, "throttled", NULL, OPT_FLAG(struct options, by_cause),
	  "separate waits caused by CPU quotas from the rest" },
	{ 0, "slower", "USEC", OPT_DURATION(struct options, slower_ns, NS_PER_US),
	  "print waits of at least USEC, and which thread ran instead" },
	{},
};

/* Groupings, in the order of `given` in find_by(). */
static const struct by {
	struct hist_grouping grouping;
	uint32_t number;
} groupings[] = {
	{ { "pid", .with_comm = true }, BY_PROCESS },
	{ { "tid", .with_comm = true }, BY_THREAD },
	{ { "pidns" }, BY_PIDNS },
	{ { "cpu" }, BY_CPU },
	{ { "cgroup", .with_cgroup = true }, BY_CGROUP },
	{ { "container", .by_container = true }, BY_CGROUP },
	{ { "wait", .names = throttled_causes }, BY_CAUSE },
};

/* Returns the grouping; NULL: a single histogram. *n: number of grouping options given. */
static const struct by *find_by(const struct run *run, unsigned int *n)
{
	const struct options *o = run->options;
	const bool given[] = { o->by_process, o->by_thread,    o->by_pidns, o->by_cpu,
			       o->by_cgroup,  o->by_container, o->by_cause };
	const struct by *by = NULL;

	*n = 0;
	for (size_t i = 0; i < ARRAY_SIZE(given); i++) {
		*n += given[i];
		by = given[i] ? &groupings[i] : by;
	}
	return by;
}

static const struct hist_grouping *grouping(const struct run *run)
{
	unsigned int n;
	const struct by *by = find_by(run, &n);

	return by ? &by->grouping : NULL;
}

static bool by_cause(const struct run *run)
{
	const struct options *options = run->options;

	return options->by_cause;
}

static void conclude(struct run *run, struct table_output *to, const struct hist_list *list)
{
	if (by_cause(run))
		throttled_conclude(run, to, list);
}

static const struct histograms_spec histograms = {
	.metric = { "tracelets_runqlat_wait_seconds",
		    "Time that runnable threads waited for a CPU." },
	.grouping = grouping,
	.conclude = conclude,
};

static bool wants_lines(const struct run *run)
{
	const struct options *options = run->options;

	return options->slower_ns > 0;
}

static int check(struct run *run)
{
	unsigned int n;

	find_by(run, &n);
	if (n + wants_lines(run) > 1)
		return msg_error("-P, -L, --pidnss, --per-cpu, --per-cgroup, --per-container, "
				 "--throttled and --slower exclude each other");
	if (run->is_metrics && wants_lines(run))
		return msg_error(
			"--slower prints events; it can't be combined with --format prometheus");
	if (run_given(run, "slower") && !wants_lines(run))
		return msg_error("--slower must be more than 0");
	if (wants_lines(run) && (histograms_refuse_units(run, "with --slower") ||
				 histograms_refuse(run, "with --slower")))
		return -EINVAL;
	return n ? 0 : run_refuse(run, (const char *[]){ "entries", NULL }, "on one histogram");
}

static int configure(struct run *run)
{
	const struct options *options = run->options;
	struct runqlat_bpf *skel = run->skeleton;
	unsigned int n;
	const struct by *by = find_by(run, &n);

	skel->rodata->slower_ns = options->slower_ns;
	skel->rodata->hist_by = by ? by->number : BY_NOTHING;
	bpf_program__set_autoload(skel->progs.runqlat_rename, by && by->grouping.with_comm);
	return by_cause(run) ? features_require_quotas() : 0;
}

static int start(struct run *run)
{
	return taskstate_visit(run, 0, NULL, NULL);
}

static int report(struct run *run)
{
	return wants_lines(run) ? events_report(run) : histograms_report(run);
}

DEFINE_SKELETON(runqlat);

static const struct tool runqlat = {
	.name = "runqlat",
	.summary = "Shows how long runnable threads wait for a CPU, as a histogram.",
	.examples = "  runqlat 5                # a histogram every 5 seconds\n"
		    "  runqlat -mT 1 10         # ten, in ms, with the time of day\n"
		    "  runqlat -P 1             # one for each process\n"
		    "  runqlat --slower 10ms    # long waits, and who ran instead\n"
		    "  runqlat --throttled 10 1 # is a CPU limit too low?\n",
	.usual = "pid container pids per-container milliseconds timestamp slower throttled format "
		 "output",
	.unit = "waits",
	.operands = OPERANDS_INTERVAL,
	.opts = opts,
	.options = ZEROES(struct options),
	.modules = { { &target_module },
		     { &taskstate_module },
		     { &histograms_module, &histograms },
		     { &events_module, &slowwaits_events, wants_lines },
		     { &throttled_module, NULL, by_cause },
		     { &numbers_module } },
	.skeleton = &skeleton,
	.check = check,
	.configure = configure,
	.start = start,
	.report = report,
};

int main(int argc, char **argv)
{
	return tool_main(&runqlat, argc, argv);
}
