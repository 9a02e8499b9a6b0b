// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which system calls, how many, how slow, how many fail? Counts them as they return, by call, by
 * process or both, and measures how long they took if asked.
 */
#include <stdlib.h>

#include "syscount/calls.h"
#include "syscount/errnames.h"
#include "base/msg.h"
#include "base/parse.h"
#include "syscount/syscalls.h"
#include "modules/target.h"
#include "run/tool.h"
#include "modules/topview.h"

#include "syscount.skel.h"

static bool by_process, by_both, list, only_failed, has_call, is_live;
static struct call_wishes wishes = {
	.layout = { .top = 10 },
	.entries = 16384,
	.filter = { .numbers = { SYSCALL_NONE, SYSCALL_NONE } },
};

static int parse_call(const char *what, const char *text, void *dest)
{
	__s32 *numbers = dest;

	numbers[CALL_NATIVE] = syscall_number(CALL_NATIVE, text);
	numbers[CALL_COMPAT] = syscall_number(CALL_COMPAT, text);
	if (numbers[CALL_NATIVE] == SYSCALL_NONE && numbers[CALL_COMPAT] == SYSCALL_NONE)
		return msg_error("%s: there is no system call '%s' (-l lists them)", what, text);
	has_call = true;
	return 0;
}

/* Without a number it is what --top is elsewhere. */
static int parse_top(const char *what, const char *text, void *dest)
{
	uint64_t rows;
	int err = text ? parse_uint(what, text, 1, UINT32_MAX, &rows) : 0;

	if (!text)
		is_live = true;
	else if (!err)
		*(uint32_t *)dest = (uint32_t)rows;
	return err;
}

static int parse_error(const char *what, const char *text, void *dest)
{
	return errname_parse(what, text, dest);
}

static const struct opt opts[] = {
	{ 'c', "ppid", "PID", OPT_PARSED(target_parse_pid, &wishes.filter.ppid),
	  "only children of that process" },
	{ 'T', "top", "[N]", OPT_PARSED(parse_top, &wishes.layout.top),
	  "rows of each table (default 10); --top alone: a live view" },
	{ 'x', "failures", NULL, OPT_FLAG(&only_failed), "only calls that fail, and with what" },
	{ 'e', "errno", "ERRNO", OPT_PARSED(parse_error, &wishes.filter.error),
	  "only calls that fail with that, a name or a number" },
	{ 'L', "latency", NULL, OPT_FLAG(&wishes.layout.timed), "how long the calls take" },
	{ 'm', "milliseconds", NULL, OPT_FLAG(&wishes.layout.in_ms),
	  "in milliseconds, not microseconds" },
	{ 'P', "process", NULL, OPT_FLAG(&by_process), "by process, not by call",
	  "by-process-and-syscall" },
	{ 0, "by-process-and-syscall", NULL, OPT_FLAG(&by_both), "by process and call" },
	{ 0, "syscall", "NAME", OPT_PARSED(parse_call, wishes.filter.numbers), "only that call" },
	{ 0, "histogram", NULL, OPT_FLAG(&wishes.layout.histograms),
	  "with -L's table, a histogram for each of its rows" },
	{ 0, "in-flight", NULL, OPT_FLAG(&wishes.in_flight),
	  "also list calls that have not returned (-v: and where they are)" },
	{ 0, "entries", "N", OPT_UINT(&wishes.entries, 64, 1 << 24),
	  "room for rows, and with -L for parts of them (default 16384)" },
	{ 'l', "list", NULL, OPT_FLAG(&list), "list the names of calls, and end" },
	{},
};

static int check(struct run *run)
{
	if (list) {
		syscall_print_list(stdout);
		exit(fflush(stdout) ? EXIT_FAILURE : EXIT_SUCCESS);
	}
	if (is_live && wishes.in_flight)
		return msg_error("--in-flight and --top without a number exclude each other");
	wishes.layout.by_process = by_process || by_both;
	wishes.layout.by_call = !by_process;
	wishes.layout.by_error = only_failed && !wishes.filter.error;
	wishes.layout.timed |= wishes.layout.histograms;
	wishes.filter.only_failed = only_failed;
	wishes.filter.only_numbers = has_call;
	return is_live ? topview_check(run) : 0;
}

static int configure(struct run *run)
{
	return calls_configure(run, &wishes);
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
		    "  syscount --top -P             # by process, on the terminal, until q\n",
	.unit = "calls",
	.operands = OPERANDS_INTERVAL,
	.tid_letter = 't',
	.letters = { { 'i', "interval" }, { 'd', "duration" } },
	.opts = opts,
	.modules = { &target_module, &calls_module, &topview_module },
	.skeleton = &skeleton,
	.check = check,
	.configure = configure,
	.start = calls_start,
	.report = calls_report,
};

int main(int argc, char **argv)
{
	return tool_main(&syscount, argc, argv);
}
