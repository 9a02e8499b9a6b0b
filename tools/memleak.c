// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which code holds memory that it never gives back? Keeps every block from its allocation to its
 * free, with the stack that asked for it, and shows what is left: of processes by probes on their
 * allocators, wherever those are, or of the kernel by its tracepoints.
 */
#include <string.h>

#include "abi/memleak.h"
#include "memleak/leak_options.h"
#include "base/msg.h"
#include "base/parse.h"
#include "stacks/stacks.h"
#include "modules/target.h"
#include "run/tool.h"
#include "stacks/user_stacks.h"

#include "memleak.skel.h"

static bool missing_free;

static int parse_sort(const char *what, const char *text, void *dest)
{
	if (strcmp(text, "size") && strcmp(text, "count"))
		return msg_error("%s: '%s' is neither size nor count", what, text);
	*(bool *)dest = !strcmp(text, "count");
	return 0;
}

static const struct opt opts[] = {
	{ 't', "trace", NULL, OPT_FLAG(&leak_options.trace), "also print each call" },
	{ 'a', "show-allocs", NULL, OPT_FLAG(&leak_options.show_blocks),
	  "also print each block's address and size" },
	{ 'o', "older", "AGE_MS", OPT_DURATION(&leak_options.min_age_ns, NS_PER_MS),
	  "only blocks this old (default 500), unless their process has ended" },
	{ 'c', "command", "COMMAND", OPT_PARSED(leaks_parse_command, NULL),
	  "run the command, and trace it until it ends; quoting as in a shell" },
	{ 'C', "combined-only", NULL, OPT_FLAG(&leak_options.combined_only),
	  "sums only, without regard to age" },
	{ 'F', "wa-missing-free", NULL, OPT_FLAG(&missing_free),
	  "a block whose address is given out again has been freed (always so)" },
	{ 's', "sample-rate", "N", OPT_UINT(&leak_options.sample, 1, 1 << 20),
	  "only one address in N, with its frees" },
	{ 'T', "top", "N", OPT_UINT(&leak_options.top, 1, UINT32_MAX),
	  "only the N largest stacks in text (default 10)" },
	{ 'z', "min-size", "SIZE", OPT_SIZE(&leak_options.min_bytes), "only blocks this large" },
	{ 'Z', "max-size", "SIZE", OPT_SIZE(&leak_options.max_bytes), "no larger blocks" },
	{ 'O', "obj", "OBJECT", OPT_STRING(&leak_options.object),
	  "only the functions in that file: its path or its name" },
	{ 'S', "symbols-prefix", "PREFIX", OPT_STRING(&leak_options.prefix),
	  "only functions whose names begin with it: je_ for je_malloc" },
	{ 0, "sort", "size|count", OPT_PARSED(parse_sort, &leak_options.by_count),
	  "what is largest: bytes (default) or the number of blocks" },
	{ 'P', "percpu", NULL, OPT_FLAG(&leak_options.percpu),
	  "the kernel's per-CPU memory, instead of all the rest" },
	{},
};

DEFINE_SKELETON(memleak);

static const struct tool memleak = {
	.name = "memleak",
	.summary = "Shows which code holds memory that it doesn't give back.",
	.examples = "  memleak -p 185                 # a process: a report every 5 seconds\n"
		    "  memleak -c './program -x'      # a program, from its beginning to its end\n"
		    "  memleak --growth -p 185 10     # only what keeps growing\n"
		    "  memleak -p 185 | flamegraph.pl # all of it at the end, as a flame graph\n"
		    "  memleak                        # the kernel\n",
	.unit = "bytes",
	.operands = OPERANDS_INTERVAL,
	.opts = opts,
	.modules = { &leaks_module, &target_module, &stacks_module, &unwind_module },
	.skeleton = &skeleton,
	.start = leaks_start,
	.report = leaks_report,
};

int main(int argc, char **argv)
{
	return tool_main(&memleak, argc, argv);
}
