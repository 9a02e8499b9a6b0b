// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where does CPU time go? Samples the running task on every CPU at a fixed rate and counts its
 * user and kernel stacks.
 */
#include "modules/sampler.h"
#include "stacks/stacks.h"
#include "modules/target.h"
#include "run/tool.h"
#include "stacks/user_stacks.h"

#include "profile.skel.h"

static bool annotate, include_idle, per_cpu;

static const struct opt opts[] = {
	{ 'a', "annotations", NULL, OPT_FLAG(&annotate), "_[k] behind the names of kernel frames" },
	{ 'I', "include-idle", NULL, OPT_FLAG(&include_idle), "also the idle task" },
	{ 0, "per-cpu", NULL, OPT_FLAG(&per_cpu), "stacks of each CPU apart" },
	{ 'A', "all-cpus", NULL, OPT_FLAG(&per_cpu), "the same as --per-cpu" },
	{},
};

static int configure(struct run *run)
{
	struct profile_bpf *skel = run->skeleton;

	skel->rodata->include_idle = include_idle;
	skel->rodata->per_cpu = per_cpu;
	stacks_set_annotate(annotate);
	return 0;
}

static int start(struct run *run)
{
	struct profile_bpf *skel = run->skeleton;

	return sampler_attach(run, skel->progs.profile_sample);
}

DEFINE_SKELETON(profile);

static const struct tool profile = {
	.name = "profile",
	.summary = "Samples stacks at a fixed rate, to show where CPU time goes.",
	.examples = "  profile                          # everything, until Ctrl-C\n"
		    "  profile -p 185 5                 # one process, 5 seconds\n"
		    "  profile -f 10 | flamegraph.pl    # a flame graph of the whole system\n"
		    "  profile -F 499 -- make           # a command from its start to its end\n",
	.unit = "samples",
	.operands = OPERANDS_DURATION,
	.tid_letter = 'L',
	.opts = opts,
	.modules = { &target_module, &stacks_module, &stacks_top_module, &unwind_module,
		     &sampler_module },
	.skeleton = &skeleton,
	.configure = configure,
	.start = start,
	.report = stacks_report,
};

int main(int argc, char **argv)
{
	return tool_main(&profile, argc, argv);
}
