// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where did it go, and what has changed? Draws folded stacks as a flame graph, compares two sets of
 * them, merges files and lists functions. It needs no kernel: files may come from anywhere.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output/flamegraph.h"
#include "output/folded_tree.h"
#include "output/functions.h"
#include "base/mem.h"
#include "base/msg.h"
#include "run/opts.h"
#include "run/output.h"
#include "base/parse.h"
#include "base/version.h"

#define SUMMARY "Draws folded stacks as a flame graph, compares, merges and lists them."

static struct flamegraph picture = FLAMEGRAPH_DEFAULT;
static struct output output;
static uint64_t before_ns, after_ns;
static bool reverse, merge, want_help, want_version;
static uint32_t top;

static int parse_min_width(const char *what, const char *text, void *dest)
{
	return parse_decimal(what, text, 0, 1000, dest);
}

static int parse_durations(const char *what, const char *text, void *dest)
{
	char *before = mem_strdup(text), *after = strchr(before, ',');
	int err;

	(void)dest;
	if (after)
		*after++ = '\0';
	err = after ? parse_duration(what, before, NS_PER_S, &before_ns)
		    : msg_error("%s: '%s' is not two durations with a comma between", what, text);
	if (!err)
		err = parse_duration(what, after, NS_PER_S, &after_ns);
	if (!err && (!before_ns || !after_ns))
		err = msg_error("%s: a duration must be more than 0", what);
	free(before);
	return err;
}

static const struct opt opts[] = {
	{ 0, "diff", NULL, OPT_FLAG(&picture.differential),
	  "compare: BEFORE AFTER, or one file with two values a line" },
	{ 0, "durations", "A,B", OPT_PARSED(parse_durations, NULL),
	  "compare by time: A was BEFORE's, B AFTER's (default: totals are made equal)" },
	{ 0, "top", "N", OPT_UINT(&top, 1, UINT32_MAX), "a table of N functions instead", "merge" },
	{ 0, "merge", NULL, OPT_FLAG(&merge),
	  "no picture: folded stacks, equal ones added up; two values a line with --diff" },
	{ 0, "reverse", NULL, OPT_FLAG(&reverse), "leaf first: shows who calls what takes time" },
	{ 0, "inverted", NULL, OPT_FLAG(&picture.inverted), "roots at the top: an icicle graph" },
	{ 0, "title", "TEXT", OPT_STRING(&picture.title), "the picture's title" },
	{ 0, "subtitle", "TEXT", OPT_STRING(&picture.subtitle), "a line below it" },
	{ 0, "unit", "NAME", OPT_STRING(&picture.unit),
	  "of the values: microseconds, nanoseconds, bytes or any word (default samples)" },
	{ 0, "width", "PIXELS", OPT_UINT(&picture.width, 100, 100000), "default 1200" },
	{ 0, "min-width", "PIXELS", OPT_PARSED(parse_min_width, &picture.min_width),
	  "narrower frames are merged with their neighbours (default 0.1)" },
	{},
};

static const struct opt common_opts[] = {
	{ 0, "output", "FILE", OPT_STRING(&output.path), "write to FILE, not to stdout" },
	{ 0, "quiet", NULL, OPT_FLAG(&msg_quiet), "print nothing but results, losses and errors" },
	{ 'h', "help", NULL, OPT_FLAG(&want_help), "print this help" },
	{ 'V', "version", NULL, OPT_FLAG(&want_version), "print the version" },
	{},
};

static const struct opt_section sections[] = { { "options", opts }, { "all tools", common_opts } };
static const struct opt_set set = { sections, ARRAY_SIZE(sections), 0 };

static int print_help(void)
{
	printf("usage: flame [options] [FILE...]\n\n" SUMMARY "\n\nexamples:\n"
	       "  offcputime -p 185 10 | flame --unit microseconds > off.svg\n"
	       "  flame --diff before.folded after.folded > diff.svg\n"
	       "  flame --top 20 cpu.folded\n");
	opts_print_help(&set);
	return 0;
}

static int check(int n_files)
{
	if (picture.differential && (n_files < 1 || n_files > 2))
		return msg_error("--diff compares two files, or shows one with two values a line");
	if (before_ns && !picture.differential)
		return msg_error("--durations is for --diff");
	if (before_ns)
		picture.before_scale = (double)after_ns / (double)before_ns;
	return 0;
}

static enum folded_column column_of(int file, int n_files)
{
	if (!picture.differential)
		return FOLDED_NOW;
	return n_files == 1 ? FOLDED_BOTH : file ? FOLDED_NOW : FOLDED_BEFORE;
}

static int read_files(struct calltree *tree, int n, char **paths)
{
	int err = n ? 0 : folded_tree_read_path(tree, "-", FOLDED_NOW, reverse);

	for (int i = 0; !err && i < n; i++)
		err = folded_tree_read_path(tree, paths[i], column_of(i, n), reverse);
	calltree_finish(tree);
	if (calltree_merged(tree))
		msg_warn("%llu small frames were merged into their callers, for want of memory",
			 (unsigned long long)calltree_merged(tree));
	return err;
}

static void write_table(FILE *f, const struct calltree *tree)
{
	struct functions *functions = functions_new(tree);

	functions_print(f, functions, tree, top, picture.unit);
	functions_free(functions);
}

static int write_result(const struct calltree *tree)
{
	int err = output_begin(&output);

	if (err)
		return err;
	if (top)
		write_table(output.file, tree);
	else if (merge)
		folded_tree_write(output.file, tree, picture.differential);
	else
		flamegraph_write(output.file, tree, &picture);
	err = output_commit(&output);
	return err == -EPIPE ? 0 : err;
}

static int run(int n, char **paths)
{
	struct calltree *tree = calltree_new(CALLTREE_MAX_NODES);
	int err = read_files(tree, n, paths);

	if (!err)
		err = write_result(tree);
	calltree_free(tree);
	return err ? 1 : 0;
}

int main(int argc, char **argv)
{
	int first;

	if (argc == 0) /* see tool_main() */
		return printf("  %-12s %s\n", "flame", SUMMARY) < 0;
	msg_set_name("flame");
	signal(SIGPIPE, SIG_IGN);
	first = opts_parse(&set, argc, argv);
	if (first < 0)
		return 2;
	if (want_help)
		return print_help();
	if (want_version)
		return printf("flame (tracelets) %s\n", TRACELETS_VERSION) < 0;
	return check(argc - first) ? 2 : run(argc - first, argv + first);
}
