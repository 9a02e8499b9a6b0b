// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counts the user stacks of threads that leave their CPU whose names BPF recalls, and of these the
 * ones for which a walk finds another name. Prints "N recalled, N different, N walked", and fails
 * if one differs.
 *
 *	recall -p PID 10
 */
#include <errno.h>

#include "modules/target.h"
#include "run/tool.h"
#include "stacks/stacks.h"
#include "stacks/unwind_maps.h"

#include "recall.h"
#include "recall.skel.h"

static int report(struct run *run)
{
	const struct recall_bpf *skel = run->skeleton;
	const struct recall_counts *c = &skel->data_counts->counts;

	run->recorded = c->equal;
	fprintf(run->out, "%llu recalled, %llu different, %llu walked\n", c->equal + c->different,
		c->different, c->walked);
	if (!c->different)
		return 0;
	fprintf(run->out, "last difference: process %llu, recalled %llx, walked %llx\n",
		c->last_tgid, c->last_recalled, c->last_walked);
	return -EIO;
}

DEFINE_SKELETON(recall);

static const char *const walkers[] = { "recall_switch", NULL };
static const struct stacks_spec stacks = { .walkers = walkers };

static const struct tool recall = {
	.name = "recall",
	.summary = "Compares recalled names of user stacks with walks.",
	.examples = "",
	.unit = "stacks",
	.operands = OPERANDS_DURATION,
	.modules = { { &target_module },
		     { &stacks_module, &stacks },
		     { &unwind_module, NULL, stacks_want_user } },
	.skeleton = &skeleton,
	.report = report,
};

int main(int argc, char **argv)
{
	return tool_main(&recall, argc, argv);
}
