// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which code holds memory that it never gives back? Records every block from its allocation to its
 * free, with its allocation stack, and shows blocks that are not freed: of processes, by probes on
 * allocators in any file, or of the kernel, by its tracepoints.
 */
#include <string.h>
#include <wordexp.h>

#include "abi/memleak.h"
#include "base/clock.h"
#include "base/msg.h"
#include "memleak/leak_table.h"
#include "modules/target.h"
#include "modules/taskstate.h"
#include "run/tool.h"
#include "stacks/stacks.h"
#include "stacks/unwind_maps.h"

#include "memleak.skel.h"

static int parse_sort(const char *what, const char *text, void *dest)
{
	if (strcmp(text, "size") && strcmp(text, "count"))
		return msg_error("%s: '%s' is neither size nor count", what, text);
	*(bool *)dest = !strcmp(text, "count");
	return 0;
}

/* Splits text into words like a shell. The words are never freed. */
static int parse_command(const char *what, const char *text, void *dest)
{
	wordexp_t words;

	if (wordexp(text, &words, WRDE_NOCMD) || !words.we_wordc)
		return msg_error("%s: '%s' is not a command with arguments (quote special "
				 "characters, or use -- COMMAND)",
				 what, text);
	*(char ***)dest = words.we_wordv;
	return 0;
}

static const struct leak_options defaults = {
	.min_age_ns = 500 * NS_PER_MS,
	.max_bytes = UINT64_MAX,
	.sample = 1,
	.top = 10,
	.n_blocks = 1400000,
};

static const struct opt opts[] = {
	{ 't', "trace", NULL, OPT_FLAG(struct leak_options, trace),
	  "print each call, too (text only)" },
	{ 'a', "show-allocs", NULL, OPT_FLAG(struct leak_options, show_blocks),
	  "print each block's address and size, too (text only)" },
	{ 'o', "older", "AGE_MS", OPT_DURATION(struct leak_options, min_age_ns, NS_PER_MS),
	  "show blocks at least this old (default 500)" },
	{ 'c', "command", "COMMAND", OPT_PARSED(struct leak_options, command, parse_command),
	  "run COMMAND and trace it until it ends" },
	{ 'C', "combined-only", NULL, OPT_FLAG(struct leak_options, combined_only),
	  "print totals only, for blocks of any age", "older" },
	{ 's', "sample-rate", "N", OPT_UINT(struct leak_options, sample, 1, 1 << 20),
	  "trace one address in N, and its frees" },
	{ 0, "duty-cycle", "PERCENT", OPT_UINT(struct leak_options, duty_percent, 1, 50),
	  "probe allocations only PERCENT of the time" },
	{ 'T', "top", "N", OPT_UINT(struct leak_options, top, 1, UINT32_MAX),
	  "print the N largest stacks (text only; default 10)" },
	{ 'z', "min-size", "SIZE", OPT_SIZE(struct leak_options, min_bytes),
	  "trace only blocks of at least SIZE" },
	{ 'Z', "max-size", "SIZE", OPT_SIZE(struct leak_options, max_bytes),
	  "trace only blocks of at most SIZE" },
	{ 'O', "obj", "OBJECT", OPT_STRING(struct leak_options, object),
	  "probe only functions in this file (path or name)" },
	{ 'S', "symbols-prefix", "PREFIX", OPT_STRING(struct leak_options, prefix),
	  "probe only functions with this prefix: je_ for je_malloc" },
	{ 0, "sort", "size|count", OPT_PARSED(struct leak_options, by_count, parse_sort),
	  "order stacks by bytes (default) or number of blocks" },
	{ 'P', "percpu", NULL, OPT_FLAG(struct leak_options, percpu),
	  "trace only the kernel's per-CPU allocator" },
	{ 0, "growth", NULL, OPT_FLAG(struct leak_options, growth),
	  "show only stacks that grow interval after interval" },
	{ 0, "entries", "N", OPT_UINT(struct leak_options, n_blocks, 1, 1 << 28),
	  "maximum live blocks (default 1400000, at most 1/8 of memory)" },
	{ 0, "max-rate", "N", OPT_UINT(struct leak_options, max_rate, 1, UINT32_MAX),
	  "detach and stop above N calls per second" },
	{},
};

/* --follow must be given: it probes files for all processes, which slows down untraced ones. */
static const struct target_spec target = { .follows_if_asked = true };

DEFINE_SKELETON(memleak);

static const struct tool memleak = {
	.name = "memleak",
	.summary = "Shows which code holds memory that it doesn't give back.",
	.examples = "  memleak -p 185              # a process: a report every 5 seconds\n"
		    "  memleak -c './program -x'   # a program, from start to end\n"
		    "  memleak --growth -p 185 10  # only what keeps growing\n"
		    "  memleak -p 185 60 1 | flamegraph.pl  # as a flame graph\n"
		    "  memleak                     # the kernel\n",
	.usual = "pid command older top sort growth combined-only duty-cycle folded format",
	.unit = "bytes",
	.sums = true,
	.operands = OPERANDS_INTERVAL,
	.opts = opts,
	.options = DEFAULTS(defaults),
	.modules = { { &leak_table_module },
		     { &target_module, &target },
		     { &stacks_module, &leak_table_stacks },
		     { &taskstate_module, NULL, leak_table_keeps_calls },
		     { &unwind_module, NULL, stacks_want_user } },
	.skeleton = &skeleton,
	.check = leak_table_check,
	.start = leak_table_start,
	.report = leak_table_report,
};

int main(int argc, char **argv)
{
	return tool_main(&memleak, argc, argv);
}
