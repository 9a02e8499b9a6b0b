// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counts the stacks that our walker finds equal to _Unwind_Backtrace()'s, in programs that have the
 * preload library (preload.c) in them. Prints "N equal, N different, ..." and fails if one differs.
 * Equal are stacks that both followed to the outermost frame, or to the same code without unwind
 * tables. One of ours that ends before is incomplete, and counted by reason, if its frames are
 * right as far as they go.
 *
 *	oracle --follow --library liboracle.so -- env LD_PRELOAD=liboracle.so python3 ...
 */
#include <errno.h>

#include "base/msg.h"
#include "modules/target.h"
#include "run/tool.h"
#include "stacks/stacks.h"
#include "stacks/unwind_maps.h"

#include "oracle.h"
#include "oracle.skel.h"

static struct bpf_link *marker;

struct options {
	const char *library;
};

static const struct options defaults;

static const struct opt opts[] = {
	{ 'l', "library", "PATH", OPT_STRING(struct options, library), "the preload library" },
	{},
};

static int configure(struct run *run)
{
	const struct options *options = run->options;
	struct oracle_bpf *skel = run->skeleton;

	if (!options->library)
		return msg_error("--library is missing");
	bpf_map__set_max_entries(skel->maps.theirs,
				 (__u32)libbpf_num_possible_cpus() * STACK_CPU_SLOTS);
	bpf_program__set_autoattach(skel->progs.oracle_marked, false);
	return 0;
}

static int start(struct run *run)
{
	LIBBPF_OPTS(bpf_uprobe_opts, how, .func_name = "oracle_mark");
	const struct options *options = run->options;
	struct oracle_bpf *skel = run->skeleton;

	marker = bpf_program__attach_uprobe_opts(skel->progs.oracle_marked, -1, options->library, 0,
						 &how);
	return marker ? 0 : msg_errno(-errno, "attaching to oracle_mark in %s", options->library);
}

static void print_difference(FILE *out, const struct oracle_difference *d)
{
	fprintf(out, "first difference: process %u, frame %u, reason %u\n", d->tgid, d->at,
		d->reason);
	for (__u32 i = 0; i < d->n_ours || i < d->n_theirs + ORACLE_SHIFT; i++)
		fprintf(out, "%3u  %16llx  %16llx\n", i, i < d->n_ours ? d->ours[i] : 0,
			i && i - ORACLE_SHIFT < d->n_theirs ? d->theirs[i - ORACLE_SHIFT] : 0);
}

static __u64 count_verdict(const struct oracle_counts *c, enum oracle_verdict verdict)
{
	__u64 sum = 0;

	for (size_t i = 0; i < UNWIND_REASONS; i++)
		sum += c->by_reason[verdict][i];
	return sum;
}

static void print_verdict(FILE *out, const struct oracle_counts *c, enum oracle_verdict verdict,
			  const char *name)
{
	static const char *const reasons[UNWIND_REASONS] = {
		"?",	    "complete", "depth",       "no-process", "no-mapping", "no-rule",
		"bad-rule", "fault",	"no-progress", "32-bit",     "by-fp",
	};

	fprintf(out, "%s%llu %s", verdict == ORACLE_EQUAL ? "" : ", ", count_verdict(c, verdict),
		name);
	for (size_t i = UNWIND_COMPLETE + 1; i < UNWIND_REASONS; i++)
		if (c->by_reason[verdict][i])
			fprintf(out, " (%llu %s)", c->by_reason[verdict][i], reasons[i]);
}

static int report(struct run *run)
{
	struct oracle_bpf *skel = run->skeleton;
	const struct oracle_counts *c = &skel->data_counts->counts;

	bpf_link__destroy(marker);
	run->recorded = count_verdict(c, ORACLE_EQUAL);
	print_verdict(run->out, c, ORACLE_EQUAL, "equal");
	print_verdict(run->out, c, ORACLE_DIFFERENT, "different");
	print_verdict(run->out, c, ORACLE_INCOMPLETE, "incomplete");
	print_verdict(run->out, c, ORACLE_BEYOND, "beyond");
	fprintf(run->out, ", %llu unfit\n", c->unfit);
	if (!count_verdict(c, ORACLE_DIFFERENT))
		return 0;
	print_difference(run->out, &skel->data_difference->difference);
	return -EIO;
}

DEFINE_SKELETON(oracle);

static const struct tool oracle = {
	.name = "oracle",
	.summary = "Compares user stacks with those of _Unwind_Backtrace().",
	.examples = "",
	.unit = "stacks",
	.operands = OPERANDS_DURATION,
	.opts = opts,
	.options = DEFAULTS(defaults),
	.modules = { { &target_module },
		     { &stacks_module },
		     { &unwind_module, NULL, stacks_want_user } },
	.skeleton = &skeleton,
	.configure = configure,
	.start = start,
	.report = report,
};

int main(int argc, char **argv)
{
	return tool_main(&oracle, argc, argv);
}
