// SPDX-License-Identifier: GPL-2.0-only
/* The command line of every tool; see command_line.h. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/msg.h"
#include "base/parse.h"
#include "output/table.h"
#include "output/writer.h"
#include "run/command_line.h"
#include "run/series.h"

#define BRIEF_EXAMPLES 3 /* number of examples in -h */

static const struct opt common_opts[] = {
	{ 0, "interval", "TIME", OPT_DURATION(struct run, interval_ns, NS_PER_S),
	  "print a report every TIME" },
	{ 0, "count", "N", OPT_UINT(struct run, count, 1, UINT32_MAX), "stop after N reports" },
	{ 0, "duration", "TIME", OPT_DURATION(struct run, duration_ns, NS_PER_S),
	  "stop after TIME" },
	{ 0, "format", "FORMAT", OPT_STRING(struct run, format),
	  "text json csv md svg pprof ... (all: tracelets-output(5))" },
	{ 0, "output", "FILE", OPT_STRING(struct run, output_path),
	  "write to FILE; may contain strftime conversions (UTC)" },
	{ 0, "keep", "N", OPT_UINT(struct run, keep, 1, UINT32_MAX),
	  "keep the newest N files of a series" },
	{ 0, "keep-bytes", "SIZE", OPT_SIZE(struct run, keep_bytes),
	  "keep the newest files of a series, SIZE in total" },
	{ 0, "when", "CONDITION", OPT_LIST(struct run, capture.conditions, conditions_parse),
	  "keep only reports around a time CONDITION holds (repeatable)" },
	{ 0, "before", "N", OPT_UINT(struct run, capture.before, 0, 1000),
	  "with --when: keep N intervals before (default 3)" },
	{ 0, "after", "N", OPT_UINT(struct run, capture.after, 0, 1000),
	  "with --when: keep N intervals after (default 2)" },
	{ 0, "cool-down", "TIME", OPT_DURATION(struct run, capture.pause_ns, NS_PER_S),
	  "with --when: wait TIME between captures (default 60s)" },
	{ 0, "captures", "N", OPT_UINT(struct run, capture.max, 1, UINT32_MAX),
	  "with --when: stop after N captures" },
	{ 0, "once", NULL, OPT_FLAG(struct run, capture.once),
	  "with --when: stop after one capture", "captures" },
	{ 0, "btf", "FILE", OPT_STRING(struct run, btf_path),
	  "read the kernel's BTF from FILE if /sys/kernel/btf is hidden" },
	{ 0, "quiet", NULL, OPT_FLAG(struct run, quiet), "print only results, losses and errors" },
	{ 'v', "verbose", NULL, OPT_FLAG(struct run, verbose),
	  "print each step, and why the kernel refuses a program" },
	{ 'h', "help", NULL, OPT_FLAG(struct run, want_help), "print help (-h: one screen)" },
	{ 'V', "version", NULL, OPT_FLAG(struct run, want_version), "print the version" },
	{},
};

static void add_section(struct opt_set *set, const char *title, const struct opt *opts,
			void *values)
{
	set->sections[set->n_sections++] = (struct opt_section){ title, opts, values };
}

static void list_sections(struct run *run)
{
	const struct tool *tool = run->tool;

	run->opts.tid_letter = tool->tid_letter;
	run->opts.letters = tool->letters;
	add_section(&run->opts, "options", tool->opts, run->options);
	for_each_module(use, run)
		add_section(&run->opts, use->module->title, use->module->opts,
			    run_state(run, use->module));
	add_section(&run->opts, "all tools", common_opts, run);
}

/* Prints the examples, each of which begins with two blanks and the tool's name. */
static void print_examples(const struct tool *tool, const char *command, unsigned int n)
{
	size_t skip = 2 + strlen(tool->name), len;

	for (const char *line = tool->examples; *line && n--; line += len) {
		len = strcspn(line, "\n") + 1;
		printf("  %s%.*s", command, (int)(len - skip), line + skip);
	}
}

void command_line_print_help(const struct run *run, const char *command)
{
	const struct tool *tool = run->tool;
	bool by_interval = tool->operands == OPERANDS_INTERVAL;
	bool is_brief = opts_given_by_letter(&run->opts, "help");

	printf("usage: %s [options] %s [-- COMMAND ARG...]\n\n%s\n\nexamples:\n", command,
	       by_interval ? "[interval [count]]" : "[duration]", tool->summary);
	print_examples(tool, command, is_brief ? BRIEF_EXAMPLES : UINT_MAX);
	if (!is_brief)
		return opts_print_help(&run->opts);
	opts_print_brief(&run->opts, command, tool->usual);
}

static int parse_count(struct run *run, const char *word)
{
	uint64_t value;
	int err = parse_uint("count", word, 1, UINT32_MAX, &value);

	if (!err)
		run->count = (uint32_t)value;
	return err;
}

/* Prints an error if both an operand and the option of the same meaning are given. */
static int refuse_twice(const struct run *run, const char *option, const char *operand)
{
	return run_given(run, option)
		       ? msg_error("--%s and the operand '%s' exclude each other", option, operand)
		       : 0;
}

static int parse_operands(struct run *run, int n, char **words)
{
	bool by_interval = run->tool->operands == OPERANDS_INTERVAL;
	const char *first = by_interval ? "interval" : "duration";

	if (n > (by_interval ? 2 : 1))
		return msg_error("'%s': too many operands (see --help)", words[n - 1]);
	if (n >= 1 && (refuse_twice(run, first, words[0]) ||
		       parse_duration(first, words[0], NS_PER_S,
				      by_interval ? &run->interval_ns : &run->duration_ns)))
		return -EINVAL;
	if (n == 2)
		return refuse_twice(run, "count", words[1]) ? -EINVAL : parse_count(run, words[1]);
	return 0;
}

static int check_times(const struct run *run, int n_operands)
{
	bool by_interval = run->tool->operands == OPERANDS_INTERVAL;
	bool interval_given = run_given(run, "interval") || (n_operands && by_interval);
	bool duration_given = run_given(run, "duration") || (n_operands && !by_interval);

	if (interval_given && run->interval_ns < NS_PER_MS)
		return msg_error("--interval: must be at least 1 ms");
	if (duration_given && !run->duration_ns)
		return msg_error("--duration: must be more than 0");
	return 0;
}

/* Checks --when and the options that need it. */
static int check_capture(struct run *run)
{
	static const char *const others[] = { "before", "after", "cool-down", "captures", "once" };
	struct capture *capture = &run->capture;
	unsigned int delay = conditions_delay(&capture->conditions);

	for (size_t i = 0; !run_captures(run) && i < ARRAY_SIZE(others); i++)
		if (run_given(run, others[i]))
			return msg_error("--%s needs --when", others[i]);
	if (run_captures(run) && run->is_metrics)
		return msg_error("--when has no effect with --format prometheus");
	if (run_captures(run) && (!run->interval_ns || !run->output_path))
		return msg_error("--when needs --interval and --output");
	if (capture->before < delay)
		capture->before = delay;
	if (run_captures(run) && run->keep && run->keep < capture->before + 1 + capture->after)
		return msg_error("--keep %u: a capture has %u files here", run->keep,
				 capture->before + 1 + capture->after);
	return 0;
}

/*
 * Returns the number of reports that exist at the same time, counted in intervals; UINT64_MAX: no
 * limit. Captures are far apart.
 */
static uint64_t count_retained(const struct run *run)
{
	uint64_t n = UINT64_MAX;

	if (run->duration_ns && run->interval_ns)
		n = (run->duration_ns + run->interval_ns - 1) / run->interval_ns;
	if (run->count && run->count < n)
		n = run->count;
	return run->keep && run->keep < n && !run_captures(run) ? run->keep : n;
}

/* Checks --count, --keep and --keep-bytes. A tool may have a default interval. */
static int check_reports(struct run *run)
{
	bool is_given = run->keep || run_given(run, "keep-bytes");

	if (run->count && !run->interval_ns)
		return msg_error("--count needs an interval");
	if (is_given && !run->keep && !run->keep_bytes)
		return msg_error("--keep-bytes: must be more than 0");
	if (is_given && !run_makes_series(run))
		return msg_error("--keep and --keep-bytes need --output, and --interval or "
				 "a time in the file name");
	if (run->is_metrics &&
	    (is_given || (run->output_path && series_is_timed(run->output_path))))
		return msg_error("--format prometheus replaces one file at each report (drop "
				 "--keep and the time in the file name)");
	if (check_capture(run))
		return -EINVAL;
	return run->output_path ? series_check_pattern(run->output_path, run->interval_ns,
						       count_retained(run))
				: 0;
}

/* Splits argv at "--". Returns the command or NULL; *argc counts the words before it. */
static char **split_command(int *argc, char **argv)
{
	for (int i = 1; i < *argc; i++) {
		if (strcmp(argv[i], "--"))
			continue;
		*argc = i;
		return argv + i + 1;
	}
	return NULL;
}

static bool has_metrics(const struct run *run)
{
	for_each_module(use, run)
		if (use->module->has_metrics)
			return true;
	return false;
}

/* Sets the format of numbers: --format, else the output's extension unless -f, else text. */
static void note_format(struct run *run)
{
	const struct table_format *format = NULL;

	if (run->format)
		format = table_format_by_name(run->format);
	else if (run->output_path && !run_given(run, "folded"))
		format = table_format_by_extension(run->output_path);
	if (!format || (format->has_totals && !has_metrics(run)))
		format = &text_table;
	run->table_format = format;
	run->is_metrics = format->has_totals;
}

/* Refuses several reports on standard output in a format whose files have one. */
static int check_single(const struct run *run)
{
	const struct writer *writer = run->writer;

	if (!writer || !writer->is_single || run->output_path || !run->interval_ns ||
	    run->count == 1)
		return 0;
	return msg_error(
		"--format %s: several reports need several files (use --output, or --count 1)",
		writer->name);
}

/* Checks --format for tables; formats of stacks are checked by the stacks module. */
static int check_format(const struct run *run)
{
	const struct writer *promised = NULL;

	for_each_module(use, run)
		if (use->module->has_formats && run_wants(run, use->module))
			return check_single(run);
	if (run->format && strcmp(run->format, run->table_format->name))
		return msg_error("--format: '%s' is not one of text, json, csv%s", run->format,
				 has_metrics(run) ? ", prometheus" : "");
	if (!run->format && run->output_path && run->table_format == &text_table)
		promised = writer_by_extension(run->output_path);
	if (promised && promised != &text_writer)
		return msg_error("--output %s: %s is not available, only text, json or csv (use "
				 "--format text to write text under this name)",
				 run->output_path, promised->name);
	return 0;
}

static int check_options(struct run *run)
{
	int err = 0;

	note_format(run);
	for_each_module(use, run)
		if (!err && use->module->check)
			err = use->module->check(run);
	if (!err && run->tool->check)
		err = run->tool->check(run);
	return err ? err : check_format(run);
}

int command_line_parse(struct run *run, int argc, char **argv)
{
	int first;

	list_sections(run);
	run->btf_path = getenv("TRACELETS_BTF");
	run->command = split_command(&argc, argv);
	first = opts_parse(&run->opts, argc, argv);
	if (first < 0)
		return first;
	msg_quiet = run->quiet;
	msg_verbose = run->verbose;
	if (run->want_help || run->want_version)
		return 0;
	run_choose_tool(run);
	if (run->command && !*run->command)
		return msg_error("'--': a command must follow");
	if (parse_operands(run, argc - first, argv + first) || check_times(run, argc - first))
		return -EINVAL;
	if (check_options(run))
		return -EINVAL;
	return check_reports(run);
}
