// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which system calls are made, how often, how slow are they, how many fail? Counts calls when they
 * return, by call, process or both; if requested, measures their durations.
 */
#include <stdlib.h>

#include "base/msg.h"
#include "modules/numbers.h"
#include "modules/target.h"
#include "modules/taskstate.h"
#include "modules/topview.h"
#include "output/table.h"
#include "run/output.h"
#include "run/tool.h"
#include "syscount/calls.h"
#include "process/syscalls.h"

#include "syscount.skel.h"

struct options {
	bool by_process, by_both, list, in_flight, timed, in_ms, histograms, is_live;
	uint32_t rows, entries;
	struct call_settings filter;
};

static const struct options defaults = {
	.rows = 10,
	.entries = 16384,
	.filter = { .numbers = { SYSCALL_NONE, SYSCALL_NONE } },
};

static int parse_call(const char *what, const char *text, void *dest)
{
	__s32 *numbers = dest;

	numbers[CALL_NATIVE] = syscall_number(CALL_NATIVE, text);
	numbers[CALL_COMPAT] = syscall_number(CALL_COMPAT, text);
	if (numbers[CALL_NATIVE] == SYSCALL_NONE && numbers[CALL_COMPAT] == SYSCALL_NONE)
		return msg_error("%s: unknown system call '%s' (-l lists them)", what, text);
	return 0;
}

static int parse_error(const char *what, const char *text, void *dest)
{
	return errname_parse(what, text, dest);
}

static const struct opt opts[] = {
	{ 'c', "ppid", "PID", OPT_PARSED(struct options, filter.ppid, target_parse_pid),
	  "trace only children of this process" },
	{ 'T', "rows", "N", OPT_UINT(struct options, rows, 1, UINT32_MAX),
	  "print N rows (default 10; --top: a screen; JSON, CSV: all)" },
	{ 0, "top", NULL, OPT_FLAG(struct options, is_live), "show a live table on the terminal",
	  "in-flight" },
	{ 'x', "failures", NULL, OPT_FLAG(struct options, filter.only_failed),
	  "count only failed calls, by errno" },
	{ 'e', "errno", "ERRNO", OPT_PARSED(struct options, filter.error, parse_error),
	  "count only calls that fail with ERRNO (name or number)" },
	{ 'L', "latency", NULL, OPT_FLAG(struct options, timed), "measure how long calls take" },
	{ 'm', "milliseconds", NULL, OPT_FLAG(struct options, in_ms),
	  "print milliseconds, not microseconds" },
	{ 'P', "process", NULL, OPT_FLAG(struct options, by_process),
	  "count per process, not per call", "by-process-and-syscall" },
	{ 0, "by-process-and-syscall", NULL, OPT_FLAG(struct options, by_both),
	  "count per process and call" },
	{ 0, "syscall", "NAME", OPT_PARSED(struct options, filter.numbers, parse_call),
	  "count only this call" },
	{ 0, "histogram", NULL, OPT_FLAG(struct options, histograms),
	  "print a latency histogram per row" },
	{ 0, "in-flight", NULL, OPT_FLAG(struct options, in_flight),
	  "list calls that have not returned (-v: with kernel stacks)" },
	{ 0, "entries", "N", OPT_UINT(struct options, entries, 64, 1 << 24),
	  "maximum entries (-L: several per row; default 16384)" },
	{ 'l', "list", NULL, OPT_FLAG(struct options, list), "list the names of calls and exit" },
	{},
};

/* Returns the maximum number of rows; UINT32_MAX: no limit (a live table, JSON, CSV, metrics). */
static uint32_t requested_rows(const struct run *run)
{
	const struct options *options = run->options;

	if (run_given(run, "rows") || (run->table_format == &text_table && !options->is_live))
		return options->rows;
	return UINT32_MAX;
}

static struct call_request request(const struct run *run)
{
	const struct options *options = run->options;

	return (struct call_request){
		.layout = {
			.by_process = options->by_process || options->by_both,
			.by_call = !options->by_process,
			.by_error = options->filter.only_failed && !options->filter.error,
			.timed = options->timed || options->histograms,
			.histograms = options->histograms,
			.in_ms = options->in_ms,
		},
		.top = requested_rows(run),
		.filter = options->filter,
		.in_flight = options->in_flight,
		.entries = options->entries,
	};
}

static const struct calls_spec calls = { .request = request };

static int check(struct run *run)
{
	static const char *const about_text[] = { "in-flight", "rows", "top", "milliseconds",
						  NULL };
	static const char *const about_times[] = { "milliseconds", NULL };
	static const char *const not_in_csv[] = { "in-flight", "milliseconds", NULL };
	const struct options *options = run->options;
	bool has_times = request(run).layout.timed || options->in_flight;

	if (options->list) {
		syscall_print_list(stdout);
		exit(output_flush_standard() ? EXIT_FAILURE : EXIT_SUCCESS);
	}
	if (run_refuse_in_metrics(run, about_text) ||
	    (run->table_format == &csv_table && run_refuse(run, not_in_csv, "on --format csv")))
		return -EINVAL;
	if (!has_times && run_refuse(run, about_times, "without -L, --histogram or --in-flight"))
		return -EINVAL;
	return options->is_live ? topview_check(run) : 0;
}

DEFINE_SKELETON(syscount);

static const struct tool syscount = {
	.name = "syscount",
	.summary = "Counts system calls, and shows how long they take and how they fail.",
	.examples = "  syscount                      # the ten that are made most often\n"
		    "  syscount -P -i 1              # by process, every second\n"
		    "  syscount -L -p 185 -d 10      # how long those of one process take\n"
		    "  syscount -x                   # which fail, and with what\n"
		    "  syscount --in-flight -p 185   # and which have not returned\n"
		    "  syscount --top -P             # by process, until q\n",
	.usual = "pid container latency process failures errno syscall in-flight top interval",
	.unit = "calls",
	.operands = OPERANDS_INTERVAL,
	.tid_letter = 't',
	.letters = { { 'i', "interval" }, { 'd', "duration" } },
	.opts = opts,
	.options = DEFAULTS(defaults),
	.modules = { { &target_module },
		     { &calls_module, &calls },
		     { &taskstate_module, NULL, calls_are_tracked },
		     { &topview_module },
		     { &numbers_module } },
	.skeleton = &skeleton,
	.check = check,
	.report = calls_report,
};

int main(int argc, char **argv)
{
	return tool_main(&syscount, argc, argv);
}
