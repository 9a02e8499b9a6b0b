// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where does CPU time go? Samples the running task on every CPU at a fixed rate and counts its
 * user and kernel stacks.
 */
#include "modules/sampler.h"
#include "modules/target.h"
#include "run/tool.h"
#include "stacks/stacks.h"
#include "stacks/user_stacks.h"

#include "profile.skel.h"

struct options {
	bool annotate, include_idle, per_cpu;
};

static const struct options defaults;

static const struct opt opts[] = {
	{ 'a', "annotations", NULL, OPT_FLAG(struct options, annotate),
	  "_[k] behind the names of kernel frames" },
	{ 'I', "include-idle", NULL, OPT_FLAG(struct options, include_idle), "also the idle task" },
	{ 0, "per-cpu", NULL, OPT_FLAG(struct options, per_cpu), "stacks of each CPU apart" },
	{ 'A', "all-cpus", NULL, OPT_FLAG(struct options, per_cpu), "the same as --per-cpu" },
	{},
};

static bool annotates(const struct run *run)
{
	const struct options *options = run->options;

	return options->annotate;
}

static const struct stacks_spec stacks = { .annotates = annotates };
static const struct sampler_spec sampler = { .program = "profile_sample" };

static int configure(struct run *run)
{
	const struct options *options = run->options;
	struct profile_bpf *skel = run->skeleton;

	skel->rodata->include_idle = options->include_idle;
	skel->rodata->per_cpu = options->per_cpu;
	return 0;
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
	.options = DEFAULTS(defaults),
	.modules = { { &target_module },
		     { &stacks_module, &stacks },
		     { &stacks_top_module },
		     { &unwind_module, NULL, stacks_want_user },
		     { &sampler_module, &sampler } },
	.skeleton = &skeleton,
	.configure = configure,
	.report = stacks_report,
};

int main(int argc, char **argv)
{
	return tool_main(&profile, argc, argv);
}
