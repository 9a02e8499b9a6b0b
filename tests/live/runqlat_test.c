// SPDX-License-Identifier: GPL-2.0-only
/*
 * runqlat, live. The measure is the kernel's own count: a thread that is blocked when tracing
 * starts and when it ends has been switched in exactly as often as it was switched out in between,
 * and each time it had to wait.
 */

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "live.h"

#define ROUNDS "1009"

TEST(every_wake_up_of_a_process_is_counted_once)
{
	struct proc *work = work_start("pingpong", ROUNDS);
	uint64_t before = task_switches(work->pid, 0);
	struct proc *tool = trace_pid(work, "runqlat");
	uint64_t switches = task_switches(work->pid, 0) - before;

	CHECK(switches > 1009 / 2);
	CHECK_SWITCHES(hist_count_of(tool->out, NULL), switches);
	CHECK_EQ(truth_value(tool), hist_count_of(tool->out, NULL));
	CHECK_EQ(hist_rows_of(tool->out, NULL), hist_count_of(tool->out, NULL));
	CHECK_HAS(tool->out, "\n     usecs               : count    distribution\n");
}

TEST(a_command_is_counted_from_its_first_run_to_its_last)
{
	struct proc *tool = tool_run("runqlat", "--", work_path("plan"), "1", "101", "1", "0");
	uint64_t count = hist_count_of(tool->out, NULL);

	CHECK(count >= 101 - 2); /* its naps; it may be preempted and wait for pages too */
	CHECK(count <= 101 * 10);
}

TEST(a_preempted_thread_waits_again)
{
	const char *cpu = text_of("%d", usable_cpu(0));
	struct proc *rival = work_start("spin", "-c", cpu, "-n", "rival");
	struct proc *work = work_start("spin", "-c", cpu, "-i", "31");
	uint64_t before = task_switches(work->pid, 0);
	struct proc *tool = tool_start_on(work, "runqlat");

	work_go(rival);
	work_do(work);
	tool_stop(tool);
	CHECK_SWITCHES(hist_count_of(tool->out, NULL), task_switches(work->pid, 0) - before);
	CHECK(hist_count_of(tool->out, NULL) >= 31 - 1);
}

TEST_UNLESS(cgroups_lack, the_cgroup_is_the_wakees)
{
	const char *parent = cgroup_make("a"), *child = cgroup_make("a/b");
	struct proc *tool;
	uint64_t before;
	struct proc *work = work_start("pingpong", ROUNDS);

	CHECK(cgroup_add(child, work->pid)); /* and not its waker */
	wait_until_blocked(work->pid);
	before = task_switches(work->pid, 0);
	tool = trace_work(work, ARGV("runqlat", "--cgroup", parent));
	CHECK_SWITCHES(hist_count_of(tool->out, NULL), task_switches(work->pid, 0) - before);
}

TEST_UNLESS(cgroups_lack, a_waker_in_the_cgroup_is_counted_without_its_wakee)
{
	const char *cgroup = cgroup_make("waker");
	struct proc *tool;
	uint64_t before;
	struct proc *work = work_start("pingpong", ROUNDS);
	pid_t waker = (pid_t)work_value(work->out, NULL, "waker");

	CHECK(cgroup_add(cgroup, waker));
	wait_until_blocked(waker);
	before = task_switches(waker, 0);
	tool = trace_work(work, ARGV("runqlat", "--cgroup", cgroup));
	CHECK_SWITCHES(hist_count_of(tool->out, NULL), task_switches(waker, 0) - before);
}

/* option: by key, or NULL. */
static void check_intervals(const char *option)
{
	struct proc *work = work_start("pingpong", text_of("%d", at_size(20011, 2003)));
	uint64_t before = task_switches(work->pid, 0);
	struct proc *tool = trace_pid(work, "runqlat", "--interval", "1ms", option);

	CHECK(lines_from(tool->out, "count ") > 1); /* and more, where the tool gets a CPU */
	CHECK_SWITCHES(hist_count_of(tool->out, NULL), task_switches(work->pid, 0) - before);
}

TEST(intervals_add_up_without_loss)
{
	check_intervals(NULL);
	check_intervals("-P");
}

/*
 * A thread that is woken up before it sleeps doesn't wait, nor does it when it sleeps later. Where
 * the machine is busy, it may really have waited that long.
 */
TEST(a_sleep_outside_of_the_filter_is_no_wait)
{
	int nap_ms = at_size(150, 600);
	struct proc *work =
		work_start("leaver", text_of("%d", at_size(7, 3)), text_of("%d", nap_ms));
	struct proc *tool =
		trace_pid(work, "runqlat", "--comm", "stayer", "--slower", text_of("%dms", nap_ms));
	const char *start = text_of(" %7d ", work->pid), *line;
	uint64_t listed_us = 0;

	for (const char *rest = tool->out; (line = line_with(&rest, start, ""));)
		listed_us += strtoull(strstr(line, start) + strlen(start), NULL, 10);
	if (listed_us > thread_waited_us(work->pid))
		UNIT_FAIL("it waited for %llu us: %s",
			  (unsigned long long)thread_waited_us(work->pid), tool->out);
}

TEST(a_histogram_for_each_process_has_its_comm)
{
	struct proc *work = work_start("pingpong", ROUNDS);
	pid_t waker = (pid_t)work_value(work->out, NULL, "waker");
	uint64_t wakee_before = task_switches(work->pid, 0), waker_before = task_switches(waker, 0);
	struct proc *tool =
		trace_work(work, ARGV("runqlat", "-P", "-p", text_of("%d,%d", work->pid, waker)));

	wait_until_blocked(waker);
	CHECK_SWITCHES(hist_count_of(tool->out, text_of("pid = %d wakee\n", work->pid)),
		       task_switches(work->pid, 0) - wakee_before);
	CHECK_SWITCHES(hist_count_of(tool->out, text_of("pid = %d waker\n", waker)),
		       task_switches(waker, 0) - waker_before);
	CHECK_EQ(lines_from(tool->out, "pid = "), 2);
}

TEST(a_histogram_for_each_thread_has_its_comm)
{
	struct proc *work = work_start("plan", "3", "37", "1", "0");
	struct proc *tool = trace_pid(work, "runqlat", "-L");
	uint64_t tid = work_value(work->out, "plan-2", "tid");

	CHECK(hist_count_of(tool->out, text_of("tid = %d plan-2\n", (int)tid)) >= 37);
	CHECK_EQ(lines_from(tool->out, "tid = "), 3);
}

TEST_UNLESS(cgroups_lack, histograms_by_namespace_cpu_and_cgroup_have_titles)
{
	const char *cgroup = cgroup_make("titled");
	struct proc *work = work_start("pingpong", "101"), *tool;

	tool = trace_pid(work, "runqlat", "--pidnss");
	CHECK_EQ(lines_from(tool->out, "pidns = 40265"), 1);
	work = work_start("pingpong", "101", text_of("%d", usable_cpu(0)));
	tool = trace_pid(work, "runqlat", "--per-cpu");
	CHECK_EQ(lines_from(tool->out, text_of("cpu = %d", usable_cpu(0))), 1);
	CHECK_EQ(lines_from(tool->out, "cpu = "), 1);
	work = work_start("pingpong", "101");
	CHECK(cgroup_add(cgroup, work->pid));
	wait_until_blocked(work->pid);
	tool = trace_pid(work, "runqlat", "--per-cgroup");
	CHECK_EQ(lines_from(tool->out, "cgroup = "), 1);
	CHECK_EQ(lines_with(tool->out, strrchr(cgroup, '/')), 1);
}

TEST(units_are_named_above_the_table)
{
	const char *work = work_path("plan"); /* a machine at rest has no table */
	struct proc *tool = tool_run("runqlat", "-m", "--", work, "1", "5", "1", "0");

	CHECK_HAS(tool->out, "     msecs               : count    distribution\n");
	tool = tool_run("runqlat", "-N", "--", work, "1", "5", "1", "0");
	CHECK_HAS(tool->out, "     nsecs               : count    distribution\n");
}

TEST(the_time_of_day_stands_above_each_report)
{
	struct proc *tool = tool_run("runqlat", "-T", "100ms", "2");
	int h, m, s, n = 0;
	char *line, *rest = tool->out;

	while ((line = strsep(&rest, "\n")))
		n += strlen(line) == 8 && sscanf(line, "%d:%d:%d", &h, &m, &s) == 3;
	CHECK_EQ(n, 2);
}

/* The waker runs on the same CPU when it wakes the thread up. Others may run in between. */
TEST(late_threads_are_listed_with_who_ran_instead)
{
	struct proc *work = work_start("pingpong", "1009", text_of("%d", usable_cpu(0)));
	struct proc *tool = trace_pid(work, "runqlat", "--slower", "1us");
	int waker = (int)work_value(work->out, NULL, "waker"), n_lines = 0, n_after_waker = 0;
	int tid, prev_tid, length;
	unsigned int latency_us;
	char *line, *rest;

	CHECK_EQ(lines_from(tool->out, "TIME     CPU COMM "), 1);
	for (rest = tool->out; (line = strsep(&rest, "\n"));) {
		if (sscanf(line, "%*d:%*d:%*d %*d wakee %d %u %n", &tid, &latency_us, &length) != 2)
			continue;
		n_lines++;
		n_after_waker +=
			sscanf(line + length, "waker %d", &prev_tid) == 1 && prev_tid == waker;
		CHECK_EQ(tid, work->pid);
		CHECK(latency_us >= 1);
	}
	CHECK(n_after_waker >= 1);
	CHECK_EQ(truth_value(tool), n_lines);
}

/* By its own number, not by its process's. */
TEST(a_thread_that_ran_instead_has_its_number)
{
	struct proc *work = work_start("spin", "-t", "2", "-m", "300", "-c",
				       text_of("%d", usable_cpu(0)), "-n", "pair");
	struct proc *tool = trace_pid(work, "runqlat", "--slower", "1us");
	int second = (int)work_value(work->out, "pair-1", "tid"), prev_tid, n = 0;
	char *line, *rest = tool->out;

	CHECK(second != work->pid);
	while ((line = strsep(&rest, "\n")))
		if (sscanf(line, "%*d:%*d:%*d %*d pair-0 %*d %*u pair-1 %d", &prev_tid) == 1) {
			CHECK_EQ(prev_tid, second);
			n++;
		}
	CHECK(n > 0);
}

/* A wait whose end the kernel did not report may have no length, and no line. */
static void check_listed(uint64_t n, uint64_t switches)
{
	if (n > switches || n < switches * 9 / 10)
		UNIT_FAIL("%llu waits, not %llu", (unsigned long long)n,
			  (unsigned long long)switches);
}

/* A line about the run on each side of the waits. */
TEST(waits_are_listed_as_json)
{
	struct proc *work = work_start("pingpong", "101");
	uint64_t before = task_switches(work->pid, 0);
	struct proc *tool = trace_pid(work, "runqlat", "--slower", "1ns", "--format", "json");
	const char *tid = text_of(",\"comm\":\"wakee\",\"tid\":%d,\"delay_ns\":", work->pid);

	CHECK_EQ(lines_from(tool->out, "{\"type\":\"run\",\"tool\":\"runqlat\","), 2);
	CHECK(!strncmp(tool->out, "{\"type\":\"run\",", 14));
	CHECK_EQ(lines_from(tool->out, "{\"type\":\"slow_wait\",\"time_unix_ns\":"),
		 truth_value(tool));
	check_listed(lines_with(tool->out, tid), task_switches(work->pid, 0) - before);
	CHECK_LACKS(tool->out, "LAT(us)");
}

/* While the tool stands still, the ring runs over: in words and in numbers, none is missing. */
TEST(waits_that_the_ring_has_no_room_for_are_told)
{
	struct proc *work = work_start("pingpong", text_of("%d", at_size(40000, 20000)));
	uint64_t before = task_switches(work->pid, 0);
	struct proc *tool =
		trace_stopped(work, ARGV("runqlat", "--slower", "1ns", "--format", "json"));
	unsigned long long lost = 0;
	const char *last;

	last = strstr(tool->out, "\"lost\":"); /* the first line, when nothing was lost */
	last = last ? strstr(last + 1, "\"lost\":") : NULL;
	CHECK(last && sscanf(last, "\"lost\":%llu", &lost) == 1);
	CHECK(lost > 0);
	CHECK_HAS(tool->err, text_of("%llu events lost: ring buffer full", lost));
	check_listed(lines_from(tool->out, "{\"type\":\"slow_wait\",") + lost,
		     task_switches(work->pid, 0) - before);
}

/* Checks the head of each of two reports, in files of their own. */
static void check_heads(const char *extension, const char *head, int n_heads)
{
	const char *folder = folder_make();

	tool_run("runqlat", "--slower", "100s", "--output",
		 text_of("%s/slow.%s", folder, extension), "100ms", "2");
	CHECK_EQ(folder_count(folder), 2);
	for (int i = 1; i <= 2; i++) {
		const char *file = file_read(text_of("%s/slow.%03d.%s", folder, i, extension));

		CHECK(!strncmp(file, head, strlen(head)));
		CHECK_EQ(lines_from(file, head), n_heads);
	}
}

/* A program that reads the second file knows no more than what is in it. */
TEST(each_file_of_waits_has_its_head)
{
	check_heads("json", "{\"type\":\"run\",\"tool\":\"runqlat\",", 2);
	check_heads("txt", "TIME ", 1);
}

TEST(only_slow_waits_are_listed)
{
	struct proc *work = work_start("pingpong", "101");
	struct proc *tool = trace_pid(work, "runqlat", "--slower", "100s");

	CHECK_EQ(lines_with(tool->out, "wakee"), 0);
	CHECK_EQ(lines_from(tool->out, "TIME "), 1);
}

/* Before 5.12 it is in a table, which may be full. */
TEST(where_the_state_of_threads_is_kept_is_told)
{
	bool has_storage = libbpf_probe_bpf_helper(BPF_PROG_TYPE_RAW_TRACEPOINT,
						   BPF_FUNC_task_storage_get, NULL) == 1;
	struct proc *tool = tool_run("runqlat", "-v", "10ms", "1");

	CHECK_EQ(lines_with(tool->err, "task state: "), 1);
	CHECK_HAS(tool->err,
		  has_storage ? "task state: task storage\n" : "task state: hash table\n");
}

/* Their state must have been freed: 12,000 are more than a table of the usual size holds. */
TEST(a_thread_is_seen_after_12000_others_came_and_went)
{
	int n_others = at_size(12000, 1201);
	struct proc *work = work_start("crowd", text_of("%d", n_others), "101");
	struct proc *tool = trace_pid(work, "runqlat", "-P");

	CHECK(hist_count_of(tool->out, text_of("pid = %d ", work->pid)) >=
	      (uint64_t)n_others + 101);
	CHECK_NOTHING_FULL(tool);
	CHECK_LACKS(tool->err, "not traced");
}

TEST(threads_are_named_though_20000_others_came_and_went)
{
	struct proc *work = work_start("crowd", text_of("%d", at_size(20000, 1009)), "101");
	struct proc *tool = trace_pid(work, "runqlat", "-L", "--entries", "262144");
	pid_t late = (pid_t)work_value(work->out, "late", "tid");
	uint64_t count;

	count = hist_count_of(tool->out, text_of("tid = %d late\n", late));
	CHECK(count > 101 / 2); /* its state may have been made late */
	CHECK(count <= task_switches(work->pid, late));
	CHECK_HAS(tool->out, text_of("tid = %d early\n", work->pid));
	CHECK_NOTHING_FULL(tool);
}

/* io_uring's have no fork event. */
TEST(threads_that_the_kernel_makes_for_a_process_are_traced)
{
	struct proc *work = work_start("uring", "7", "late");
	struct proc *tool = trace_pid(work, "runqlat", "-L");

	if (!work_value(work->out, "uring", "threads"))
		SKIP("no such threads of io_uring");
	CHECK(lines_with(tool->out, text_of(" iou-sqp-%d", work->pid)) > 0);
}

/* A subshell that waits for its children, and then executes a program, has the program's name. */
TEST(histograms_have_the_last_names_of_their_processes)
{
	static const char script[] = "i=0; while [ $i -lt 29 ]; do i=$((i + 1)); "
				     "(true; sleep 0.001; sleep 0.001; exec sleep 0.001); done";
	struct proc *tool = tool_run("runqlat", "-P", "--format", "json", "--", "sh", "-c", script);

	CHECK_EQ(lines_with(tool->out, "\"comm\":\"sh\""), 1);
	CHECK_EQ(lines_with(tool->out, "\"comm\":\"sleep\""), 3 * 29);
}

TEST(a_full_table_is_told_with_its_share)
{
	struct proc *work = work_start("crowd", text_of("%d", at_size(1000, 199)), "1");
	struct proc *tool = trace_pid(work, "runqlat", "-L", "--entries", "64");

	CHECK_HAS(tool->err, " % of waits lost: map full\n");
	CHECK_HAS(tool->err, "hint: raise --entries\n");
}
