// SPDX-License-Identifier: GPL-2.0-only
/*
 * How long do runnable threads wait for a CPU? Measures from the wake-up or preemption of a thread
 * to the moment when it runs, as a histogram, or line by line for the late ones.
 */
#include "abi/runqlat.h"
#include "run/bpfmap.h"
#include "modules/histograms.h"
#include "base/mem.h"
#include "base/msg.h"
#include "base/parse.h"
#include "runqlat/slowwaits.h"
#include "modules/target.h"
#include "modules/taskstate.h"
#include "run/tool.h"

#include "runqlat.skel.h"

static bool by_process, by_thread, by_pidns, by_cpu, by_cgroup;
static uint64_t slower_ns;

static const struct opt opts[] = {
	{ 'P', "pids", NULL, OPT_FLAG(&by_process), "a histogram for each process" },
	{ 'L', "tids", NULL, OPT_FLAG(&by_thread), "a histogram for each thread" },
	{ 0, "pidnss", NULL, OPT_FLAG(&by_pidns), "a histogram for each pid namespace" },
	{ 0, "per-cpu", NULL, OPT_FLAG(&by_cpu), "a histogram for each CPU" },
	{ 0, "per-cgroup", NULL, OPT_FLAG(&by_cgroup), "a histogram for each cgroup (v2)" },
	{ 0, "slower", "USEC", OPT_DURATION(&slower_ns, NS_PER_US),
	  "no histogram: a line for each wait of at least USEC, and who ran instead" },
	{},
};

static const struct {
	const bool *wanted;
	struct hist_grouping grouping;
	uint32_t by;
} groupings[] = {
	{ &by_process, { "pid", .with_comm = true }, BY_PROCESS },
	{ &by_thread, { "tid", .with_comm = true }, BY_THREAD },
	{ &by_pidns, { "pidns" }, BY_PIDNS },
	{ &by_cpu, { "cpu" }, BY_CPU },
	{ &by_cgroup, { "cgroup", .with_cgroup = true }, BY_CGROUP },
};

static uint32_t hist_by = BY_NOTHING;

static int check(struct run *run)
{
	(void)run;
	for (size_t i = 0; i < ARRAY_SIZE(groupings); i++) {
		if (!*groupings[i].wanted)
			continue;
		if (hist_by || slower_ns)
			return msg_error("-P, -L, --pidnss, --per-cpu, --per-cgroup and --slower "
					 "exclude each other");
		hist_by = groupings[i].by;
		hists_set_grouping(&groupings[i].grouping);
	}
	if (opts_given("slower") && !slower_ns)
		return msg_error("--slower must be more than 0");
	return 0;
}

static int configure(struct run *run)
{
	struct runqlat_bpf *skel = run->skeleton;

	skel->rodata->slower_ns = slower_ns;
	if (!slower_ns)
		map_leave_out(run, "slow_waits");
	skel->rodata->hist_by = hist_by;
	return taskstate_configure(run);
}

static int start(struct run *run)
{
	int err = taskstate_visit(run, 0, NULL, NULL);

	return err || !slower_ns ? err : slowwaits_start(run);
}

static int report(struct run *run)
{
	return slower_ns ? slowwaits_report(run) : hists_report(run);
}

DEFINE_SKELETON(runqlat);

static const struct tool runqlat = {
	.name = "runqlat",
	.summary = "Shows how long runnable threads wait for a CPU, as a histogram.",
	.examples = "  runqlat 5                # a histogram every 5 seconds\n"
		    "  runqlat -mT 1 10         # 10 of 1 second, in ms, with the time of day\n"
		    "  runqlat -P 1             # one for each process\n"
		    "  runqlat --slower 10ms    # each wait over 10 ms, and who ran instead\n",
	.unit = "waits",
	.operands = OPERANDS_INTERVAL,
	.opts = opts,
	.modules = { &target_module, &hists_module },
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
