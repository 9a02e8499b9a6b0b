// SPDX-License-Identifier: GPL-2.0-only
/*
 * Draws folded stacks as a flame graph, compares two sets, merges files and lists functions. Uses
 * no kernel features: files may come from any machine.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/msg.h"
#include "base/parse.h"
#include "base/version.h"
#include "flame/durations.h"
#include "flame/without_picture.h"
#include "output/flamegraph.h"
#include "output/folded_tree.h"
#include "output/functions.h"
#include "run/opts.h"
#include "run/output.h"

#define SUMMARY "Draws folded stacks as a flame graph, compares, merges and lists them."
#define USUAL	"diff durations top merge only without reverse title unit output"

static struct options {
	struct flamegraph picture;
	struct name_filter names;
	const char *output;
	bool merge, quiet, want_help, want_version;
	uint32_t top;
} options = { .picture = FLAMEGRAPH_DEFAULT };

static int parse_min_width(const char *what, const char *text, void *dest)
{
	return parse_decimal(what, text, 0, 1000, dest);
}

/* Rejects "(": the picture's script takes the last one of a title as the end of the name. */
static int parse_unit(const char *what, const char *text, void *dest)
{
	if (strchr(text, '('))
		return msg_error("%s: '%s': must not contain '('", what, text);
	*(const char **)dest = text;
	return 0;
}

static const struct opt opts[] = {
	{ 0, "diff", NULL, OPT_FLAG(struct options, picture.differential),
	  "compare BEFORE and AFTER, or two values per line of one file", "top" },
	{ 0, "durations", "A,B", OPT_PARSED(struct options, picture.before_scale, durations_parse),
	  "compare values per time: BEFORE took A, AFTER took B" },
	{ 0, "top", "N", OPT_UINT(struct options, top, 1, UINT32_MAX),
	  "print a table of N functions instead of a picture", "merge" },
	{ 0, "merge", NULL, OPT_FLAG(struct options, merge),
	  "print merged folded stacks (two values each with --diff)" },
	{ 0, "only", "REGEX", OPT_PARSED(struct options, names.only, name_patterns_parse),
	  "keep stacks that contain a matching frame (repeatable)" },
	{ 0, "without", "REGEX", OPT_PARSED(struct options, names.without, name_patterns_parse),
	  "drop stacks that contain a matching frame (repeatable)" },
	{ 0, "reverse", NULL, OPT_FLAG(struct options, picture.leaves_first),
	  "start at the innermost function: show its callers", "top" },
	{ 0, "inverted", NULL, OPT_FLAG(struct options, picture.inverted),
	  "draw roots at the top (icicle graph)" },
	{ 0, "title", "TEXT", OPT_STRING(struct options, picture.title), "set the title" },
	{ 0, "subtitle", "TEXT", OPT_STRING(struct options, picture.subtitle),
	  "set the line below the title" },
	{ 0, "unit", "NAME", OPT_PARSED(struct options, picture.unit, parse_unit),
	  "set the unit: microseconds, bytes, ... (default samples)" },
	{ 0, "width", "PIXELS", OPT_UINT(struct options, picture.width, 100, 100000),
	  "set the width (default 1200)" },
	{ 0, "min-width", "PIXELS", OPT_PARSED(struct options, picture.min_width, parse_min_width),
	  "merge frames narrower than PIXELS (default 0.1)" },
	{},
};

static const struct opt common_opts[] = {
	{ 0, "output", "FILE", OPT_STRING(struct options, output), "write to FILE, not to stdout" },
	{ 0, "quiet", NULL, OPT_FLAG(struct options, quiet),
	  "print only results, losses and errors" },
	{ 'h', "help", NULL, OPT_FLAG(struct options, want_help), "print help (-h: one screen)" },
	{ 'V', "version", NULL, OPT_FLAG(struct options, want_version), "print the version" },
	{},
};

static int print_help(const struct opt_set *set)
{
	printf("usage: flame [options] [FILE...]\n\n" SUMMARY "\n\nexamples:\n"
	       "  offcputime -p 185 10 | flame --unit microseconds > off.svg\n"
	       "  flame --diff before.folded after.folded > diff.svg\n"
	       "  flame --top 20 cpu.folded\n");
	if (opts_given_by_letter(set, "help"))
		opts_print_brief(set, "flame", USUAL);
	else
		opts_print_help(set);
	return output_flush_standard() ? 1 : 0;
}

static int check(int n_files)
{
	if (options.picture.differential && (n_files < 1 || n_files > 2))
		return msg_error("--diff needs two files, or one file with two values per line");
	return options.picture.before_scale > 0 && !options.picture.differential
		       ? msg_error("--durations needs --diff")
		       : 0;
}

static void write_table(FILE *f, const struct calltree *tree)
{
	struct functions *functions = functions_new(tree, false);

	functions_print(f, functions, tree, options.top, options.picture.unit);
	functions_free(functions);
}

static int write_result(const struct calltree *tree)
{
	struct output output = { .path = options.output };
	int err = output_check(&output);

	if (!err)
		err = output_begin(&output);
	if (err)
		return err;
	if (options.top)
		write_table(output.file, tree);
	else if (options.merge)
		folded_tree_write(output.file, tree, options.picture.differential);
	else
		flamegraph_write(output.file, tree, &options.picture);
	err = output_commit(&output);
	return err == -EPIPE ? 0 : err;
}

static int run(int n, char **paths)
{
	struct calltree *tree = calltree_new(CALLTREE_MAX_NODES);
	struct folded_set set = {
		.compares = options.picture.differential,
		.reverse = options.picture.leaves_first,
		.names = &options.names,
	};
	int err = folded_tree_read_files(tree, (size_t)n, paths, &set);

	if (!err)
		err = write_result(tree);
	calltree_free(tree);
	name_filter_free(&options.names);
	return err ? 1 : 0;
}

int main(int argc, char **argv)
{
	struct opt_set set = { .sections = { { "options", opts, &options },
					     { "all tools", common_opts, &options } },
			       .n_sections = 2 };
	int first;

	output_open_standard();
	if (argc == 0) /* see tool_main() */
		return printf(TOOL_LINE, "flame", SUMMARY) < 0;
	msg_set_name("flame");
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	first = opts_parse(&set, argc, argv);
	if (first < 0 || without_picture_check(&set))
		return 2;
	msg_quiet = options.quiet;
	if (options.want_help)
		return print_help(&set);
	if (options.want_version)
		return printf("flame (tracelets) %s\n", TRACELETS_VERSION) < 0;
	return check(argc - first) ? 2 : run(argc - first, argv + first);
}
