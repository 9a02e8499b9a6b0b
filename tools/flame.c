// SPDX-License-Identifier: GPL-2.0-only
/*
 * Draws folded stacks as a flame graph, compares two sets, merges files and lists functions. Uses
 * no kernel features: files may come from any machine.
 */
#include <errno.h>
#include <stdio.h>

#include "base/parse.h"
#include "flame/compare.h"
#include "flame/options.h"
#include "output/folded_tree.h"
#include "output/functions.h"
#include "run/output.h"
#include "run/plain.h"

#define EXIT_GREW 3 /* --fail-over */

static struct options options = { .picture = FLAMEGRAPH_DEFAULT, .limit = -1 };

static int parse_min_width(const char *what, const char *text, void *dest)
{
	return parse_decimal(what, text, 0, 1000, dest);
}

static const struct opt opts[] = {
	{ 0, "diff", NULL, OPT_FLAG(struct options, picture.differential),
	  "compare BEFORE and AFTER, or two values per line of one file" },
	{ 0, "table", NULL, OPT_FLAG(struct options, table),
	  "print a table of all functions instead of a picture", "merge" },
	{ 0, "fail-over", "PERCENT", OPT_PARSED(struct options, limit, options_parse_limit),
	  "exit with status 3 if a function grew by more than PERCENT" },
	{ 0, "durations", "A,B",
	  OPT_PARSED(struct options, picture.before_scale, options_parse_durations),
	  "compare values per time: BEFORE took A, AFTER took B" },
	{ 0, "shares", NULL, OPT_FLAG(struct options, shares), "compare shares of each run's total",
	  "durations" },
	{ 0, "top", "N", OPT_UINT(struct options, top, 1, UINT32_MAX),
	  "print a table of N functions instead of a picture", "merge" },
	{ 0, "merge", NULL, OPT_FLAG(struct options, merge),
	  "print merged folded stacks (two values each with --diff)" },
	{ 0, "only", "REGEX", OPT_LIST(struct options, names.only, name_patterns_parse),
	  "keep stacks that contain a matching frame (repeatable)" },
	{ 0, "without", "REGEX", OPT_LIST(struct options, names.without, name_patterns_parse),
	  "drop stacks that contain a matching frame (repeatable)" },
	{ 0, "reverse", NULL, OPT_FLAG(struct options, picture.leaves_first),
	  "start at the innermost function: show its callers", "top" },
	{ 0, "inverted", NULL, OPT_FLAG(struct options, picture.inverted),
	  "draw roots at the top (icicle graph)" },
	{ 0, "title", "TEXT", OPT_STRING(struct options, picture.title), "set the title" },
	{ 0, "subtitle", "TEXT", OPT_STRING(struct options, picture.subtitle),
	  "set the line below the title" },
	{ 0, "unit", "NAME", OPT_PARSED(struct options, picture.unit, options_parse_unit),
	  "set the unit: microseconds, bytes, ... (default samples)" },
	{ 0, "width", "PIXELS", OPT_UINT(struct options, picture.width, 100, 100000),
	  "set the width (default 1200)" },
	{ 0, "min-width", "PIXELS", OPT_PARSED(struct options, picture.min_width, parse_min_width),
	  "merge frames narrower than PIXELS (default 0.1)" },
	{},
};

static void write_table(FILE *f, const struct calltree *tree)
{
	struct functions *functions = functions_new(tree, false);

	functions_print(f, functions, tree, options.top, options.picture.unit);
	functions_free(functions);
}

static void write_tree(FILE *f, const struct calltree *tree)
{
	if (options.top)
		write_table(f, tree);
	else if (options.merge)
		folded_tree_write(f, tree, options.picture.differential);
	else
		flamegraph_write(f, tree, &options.picture);
}

static int write_stacks(FILE *f, char **paths)
{
	struct calltree *tree = calltree_new(CALLTREE_MAX_NODES);
	struct folded_set set = {
		.compares = options.picture.differential,
		.n_before = options.n_before,
		.reverse = options.picture.leaves_first,
		.names = &options.names,
	};
	int err = folded_tree_read_files(tree, options.n, paths, &set);

	if (!err)
		write_tree(f, tree);
	calltree_free(tree);
	return err;
}

/* Returns the exit status. */
static int run(char **paths)
{
	bool is_comparison = options.top && options.picture.differential;
	struct output output = { .path = options.common.output };
	int err = output_check(&output), n_grown = 0;

	if (!err)
		err = output_begin(&output);
	if (err)
		return 1;
	if (is_comparison)
		n_grown = compare_print(output.file, &options, paths);
	else
		err = write_stacks(output.file, paths);
	err = n_grown < 0 ? n_grown : err;
	if (!err)
		err = output_commit(&output);
	output_discard(&output);
	name_filter_free(&options.names);
	if (err && err != -EPIPE)
		return 1;
	return n_grown ? EXIT_GREW : 0;
}

static int parse(struct opt_set *set, int argc, char **argv)
{
	return options_parse(&options, set, argc, argv);
}

int main(int argc, char **argv)
{
	static const struct plain_tool tool = {
		.name = "flame",
		.summary = "Draws folded stacks as a flame graph, compares, merges and lists them.",
		.usage = "[FILE...]",
		.examples = "  offcputime -p 185 10 | flame --unit microseconds > off.svg\n"
			    "  flame --diff before.folded after.folded > diff.svg\n"
			    "  flame --top 20 cpu.folded\n",
		.usual = "diff table top merge only without reverse title unit output",
		.opts = opts,
		.options = &options,
		.common = &options.common,
		.parse = parse,
		.run = run,
	};

	return plain_main(&tool, argc, argv);
}
