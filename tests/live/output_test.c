// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reports that come again and again, live: into files, one for each, and into a stream, where they
 * follow each other.
 */
#include "run/tool.h"
#include "live.h"
#include "probes.h"
#include "probes.skel.h"

#define INTERVAL "50ms"

/* ---- a file for each interval ---- */

/* Command lines whose reports come from ring buffers and tables, while processes come and go. */
static const char *const continuous[][6] = {
	{ "profile", "x.pb.gz" },      { "offcputime", "x.pb.gz" },
	{ "pagefaults", "x.pb.gz" },   { "pagefaults", "x.json", "--by-file" },
	{ "runqlat", "x.json", "-P" }, { "runqlat", "x.txt", "--slower", "1us" },
	{ "syscount", "x.txt", "-L" }, { "memleak", "x.pb.gz" },
};

/* Many stacks and calls of processes that have just begun. */
static void be_busy(void)
{
	for (int i = 0; i < 8; i++) {
		struct proc *work = work_start("tree", "6", "spin", "200");

		work_do(work);
		proc_kill(work);
	}
}

/* memleak has a target, whose end is the end of the run. */
static void run_continuously(const char *const words[6])
{
	const char *folder = folder_make(), *name = words[0], *more = words[2] ? words[2] : "-v";
	bool has_target = !strcmp(name, "memleak");
	struct proc *target, *tool;
	size_t n_files;

	if (has_target && memleak_lacks())
		return;
	target = work_start("leaky", "all", "1");
	tool = tool_start(name, "--interval", INTERVAL, "--output",
			  text_of("%s/%s", folder, words[1]), has_target ? "-p" : "-v",
			  has_target ? pid_text(target->pid) : "-v", more,
			  words[3] ? words[3] : "-v");
	if (has_target)
		work_do(target);
	be_busy();
	n_files = folder_count(folder);
	for (int i = 0; i < 1200 && !tool->has_ended && folder_count(folder) <= n_files; i++)
		proc_linger(tool, 100);
	if (folder_count(folder) <= n_files)
		UNIT_FAIL("%s %s %s ended by itself", name, words[1], more);
	tool_stop(tool);
	proc_kill(target);
}

static const char *const formats[] = {
	"text", "folded", "svg", "pprof", "json", "csv", "md", "html"
};

/* A full disk is reported both when the buffer is full and when it is flushed at the end. */
TEST(a_full_disk_is_an_error_in_every_format)
{
	struct proc *work = work_start("tree", "8", "nap", "1"), *tool;

	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
		tool = tool_start_on(work, "offcputime", "--format", formats[i], "--output",
				     "/dev/full");
		if (!i)
			work_do(work);
		proc_linger(tool, 100);
		proc_signal(tool, SIGINT);
		proc_finish(tool);
		CHECK_STATUS(tool, 1);
		CHECK_HAS(tool->err, "/dev/full: write failed: No space left on device\n");
	}
	tool = tool_try("runqlat", "--slower", "1us", "--output", "/dev/full", "--duration", "5");
	CHECK_STATUS(tool, 1);
	CHECK_HAS(tool->err, "/dev/full: write failed: No space left on device\n");
}

TEST(a_format_prevails_over_what_a_name_promises)
{
	const char *folder = folder_make();

	tool_run("runqlat", "--format", "text", "--output", text_of("%s/y.svg", folder),
		 "--duration", "100ms");
	CHECK_EQ(folder_count(folder), 1);
}

TEST(reports_in_csv_have_one_header)
{
	struct proc *tool = tool_run("runqlat", "--format", "csv", "100ms", "3");

	CHECK(!strncmp(tool->out, "type,start_unix_ns,duration_ns,unit,count,average,", 50));
	CHECK_EQ(count_in(tool->out, "type,"), 1);
	CHECK_EQ(count_in(tool->out, "\nhistogram,"), 3);
}

TEST(every_tool_runs_on_into_a_file_for_each_interval)
{
	for (size_t i = 0; i < sizeof(continuous) / sizeof(*continuous); i++)
		run_continuously(continuous[i]);
}

/* ---- reports that a signal asks for ---- */

static double metric_sum(const char *text, const char *name)
{
	double sum = 0;

	for (const char *line = text; line && *line; line += strcspn(line, "\n"), line += !!*line)
		if (!strncmp(line, name, strlen(name)))
			sum += atof(line + strcspn(line, "\n ") + 1);
	return sum;
}

/* Checks that the last report has all since the start, also what a signal has printed before. */
static void signal_metrics(const char *const words[3])
{
	struct proc *work = work_start("pingpong", "1009");
	const char *path = text_of("%s/x.prom", folder_make()), *text = NULL;
	struct proc *tool = tool_start_on(work, words[0], "--format", "prometheus", "--output",
					  path, words[2] ? words[2] : "-v");
	double first;

	work_do(work);
	proc_signal(tool, SIGUSR1);
	for (int i = 0; i < 6000 && !tool->has_ended && !text; i++) {
		proc_linger(tool, 20);
		text = file_read(path);
	}
	first = text ? metric_sum(text, words[1]) : 0;
	tool_stop(tool);
	CHECK(first > 0);
	CHECK(metric_sum(file_read(path), words[1]) >= first);
	proc_kill(work);
}

TEST(metrics_are_written_when_a_signal_asks_for_them)
{
	static const char *const tools[][3] = {
		{ "runqlat", "tracelets_runqlat_wait_seconds_count", "-P" },
		{ "syscount", "tracelets_syscount_calls_total" },
		{ "syscount", "tracelets_syscount_seconds_count", "-L" },
		{ "pagefaults", "tracelets_pagefaults_total" },
		{ "offcputime", "tracelets_offcputime_seconds_total" },
	};

	for (size_t i = 0; i < sizeof(tools) / sizeof(tools[0]); i++)
		signal_metrics(tools[i]);
}

/* ---- a file for all ---- */

/* Each call has its line, and the last report stands behind them. */
TEST_UNLESS(memleak_lacks, memleak_traces_into_one_file)
{
	const char *path = text_of("%s/calls.txt", folder_make()), *text;
	struct proc *work = work_start("leaky", "all", "1");
	struct proc *tool = tool_start_on(work, "memleak", "-t", "-o", "0", "--output", path);

	work_do(work);
	proc_linger(tool, 6000); /* longer than reports on a terminal are apart */
	tool_stop(tool);
	text = file_read(path);
	CHECK(text && lines_with(text, " malloc ") > 100);
	CHECK_HAS(text, "leak_malloc");
}

/* ---- a report that fails ---- */

DEFINE_SKELETON(probes);

static int report_half(struct run *run)
{
	fputs("half of a report\n", run->out);
	return -EIO;
}

static const struct tool half_tool = {
	.name = "half",
	.summary = "Its report fails when half of it is written.",
	.unit = "halves",
	.skeleton = &skeleton,
	.report = report_half,
};

/* The status of that tool with its output in that file. interval: NULL for one report alone. */
static int run_half_tool(const char *path, const char *interval)
{
	const char *const argv[] = { "half",	   "--output", path,
				     "--duration", "200ms",    interval ? "--interval" : NULL,
				     interval,	   NULL };
	pid_t pid = fork();
	int status = -1;

	if (!pid)
		exit(tool_main(&half_tool, interval ? 7 : 5, (char **)argv));
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(a_report_that_fails_halfway_is_no_file)
{
	const char *folder = folder_make(), *path = text_of("%s/x", folder);

	CHECK_EQ(run_half_tool(path, NULL), 1);
	CHECK_EQ(folder_count(folder), 0);
	CHECK_EQ(run_half_tool(path, "50ms"), 1);
	CHECK_EQ(folder_count(folder), 0);
	file_write(path, "whole\n");
	CHECK_EQ(run_half_tool(path, NULL), 1);
	CHECK_STR(file_read(path), "whole\n");
}
