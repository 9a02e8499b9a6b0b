// SPDX-License-Identifier: GPL-2.0-only
/*
 * A static Go program, stripped, that is on a stack in all ways that Go code has: its stacks begin
 * where Go's stacks begin, and all frames have names, on CPU and off. (lab/go compares frame by
 * frame.)
 */
#include <signal.h>

#include "live.h"

#define SECONDS "3"

static void check_stacks(const struct proc *tool)
{
	const char *at = strstr(tool->err, "user stacks: ");
	uint64_t all = folded_sum_with(tool->out, "goload", ";");
	uint64_t nameless = folded_sum_with(tool->out, "goload", "[goload+0x");

	CHECK(all > 0);
	if (!at || atof(at + strlen("user stacks: ")) < 97 || !strstr(at, " % complete"))
		UNIT_FAIL("too few are complete: %s", tool->err);
	if (nameless * 100 > all * 3)
		UNIT_FAIL("too few have names: %s", tool->out);
}

static const char *go_lacks(void)
{
	return access(work_path("goload"), X_OK) ? "needs package golang-go" : NULL;
}

static const char *python_in_go_lacks(void)
{
	return access(work_path("gopython"), X_OK) ? "needs package golang-go, and python3-dev"
						   : NULL;
}

TEST_UNLESS(go_lacks, samples_of_go_are_complete_and_named)
{
	struct proc *tool =
		tool_run("profile", "-U", "-F", "499", "--", work_path("goload"), SECONDS);

	check_stacks(tool);
	CHECK_HAS(tool->out, "goload;runtime.goexit;main.main.func");
	CHECK_HAS(tool->out, ";runtime.systemstack;");
}

/* Goroutines of a command, and of what a command runs, are read once its runtime has begun. */
TEST_UNLESS(go_lacks, waits_of_go_are_complete_and_named)
{
	struct proc *tool = tool_run("offcputime", "-U", "--", work_path("goload"), SECONDS);

	check_stacks(tool);
	CHECK_HAS(tool->out, "[idle]");
	CHECK_HAS(tool->out, "goload;[goroutine: ");
	CHECK_LACKS(tool->err, "have no thread");
	tool = tool_run("offcputime", "-U", "--goroutines", "only", "--", "/bin/sh", "-c",
			until_end(mem_printf("%s " SECONDS "; :", work_path("goload"))));
	CHECK_HAS(tool->out, "goload;[goroutine: ");
	CHECK_LACKS(tool->out, "[idle]");
}

/* The tool has no CPU while many processes begin and end, and then a program in Go. */
TEST_UNLESS(go_lacks, waits_of_go_are_seen_after_events_were_lost)
{
	const char *script = until_end(mem_printf("echo @first; sleep 1; i=0; while [ $i -lt 1500 "
						  "]; do /bin/true; i=$((i + 1)); done; "
						  "echo @begun; %s " SECONDS "; :",
						  work_path("goload")));
	struct proc *tool = tool_start("offcputime", "-U", "--goroutines", "only", "--", "/bin/sh",
				       "-c", script);

	CHECK(proc_wait_for(tool, "@first\n"));
	kill(tool->pid, SIGSTOP);
	CHECK(proc_wait_for(tool, "@begun\n"));
	proc_linger(tool, 500);
	kill(tool->pid, SIGCONT);
	tool_finish(tool);
	if (!strstr(tool->err, "process events: some lost"))
		SKIP("no events were lost");
	CHECK_HAS(tool->out, "goload;[goroutine: ");
}

/* The heap is what the program's own profile says of it, at the same instant. */
static void check_heap(const char *rate)
{
	struct proc *work = work_start("goknown", rate, "1");
	struct proc *tool = tool_run_on(work, "memleak", "--duration", "1", "--format", "json");
	uint64_t bytes = 0, objects = 0, all = 0;

	for (const char *rest = tool->out, *line;
	     (line = line_with(&rest, "[Go heap]", "main.hold"));) {
		bytes += number_in(line, "value");
		objects += number_in(line, "count");
		all += number_in(line, "alloc_bytes");
	}
	CHECK_CLOSE(bytes, work_value(work->out, "goknown", "bytes"), 1);
	CHECK_CLOSE(objects, work_value(work->out, "goknown", "objects"), 1);
	CHECK_CLOSE(all, work_value(work->out, "goknown", "all"), 1);
	CHECK_LACKS(tool->out, "\"runtime.mmap\"");
	CHECK_HAS(tool->err, " % too deep");
	CHECK_HAS(tool->err, "estimated from");
}

static const char *heap_of_go_lacks(void)
{
	return access(work_path("goknown"), X_OK) ? "needs package golang-go" : memleak_lacks();
}

TEST_UNLESS(heap_of_go_lacks, heap_of_go_is_known_exactly_if_all_is_sampled)
{
	check_heap("1");
}

TEST_UNLESS(heap_of_go_lacks, heap_of_go_is_as_its_own_profile_says)
{
	check_heap("40000");
}

TEST_UNLESS(heap_of_go_lacks, heap_of_go_without_a_profile_is_reported)
{
	struct proc *work = work_start("goknown", "0", "1");

	CHECK_FAILS("Go's heap is not shown: the program has set runtime.MemProfileRate", "memleak",
		    "--duration", "1", "-p", pid_text(work->pid));
}

#define SELECT "goknown;[goroutine: select];runtime.goexit;main.waitSelect;"

/*
 * Goroutines that wait all the time, n in each place, count n times the length of the run, and
 * more or less by the distance of looks: as much in one place as in the other.
 */
static void check_waits(const struct proc *tool, uint64_t n, const char *line)
{
	static const char *const places[] = { "main.waitReceive", "main.waitSelect",
					      "main.waitMutex",	  "main.waitGroup",
					      "main.waitSleep",	  "main.waitDeep" };
	uint64_t whole_us = n * truth_ms(tool) * 1000;
	uint64_t first_us = folded_sum_with(tool->out, "goknown", places[0]);

	CHECK(first_us > whole_us / 2 && first_us < whole_us * 3 / 2);
	for (size_t i = 1; i < ARRAY_SIZE(places); i++)
		CHECK_CLOSE(folded_sum_with(tool->out, "goknown", places[i]), first_us, 100);
	CHECK_HAS(tool->out, line);
	CHECK_LACKS(tool->err, "have no thread");
}

TEST_UNLESS(go_lacks, waits_of_goroutines_are_beside_those_of_threads)
{
	struct proc *work = work_start("goknown", "0", "7");
	struct proc *tool = tool_run_on(work, "offcputime", "-f", "2");

	check_waits(tool, 7, SELECT);
	CHECK_HAS(tool->out, "[idle]");
}

TEST_UNLESS(go_lacks, waits_of_goroutines_can_be_alone_or_absent)
{
	struct proc *work = work_start("goknown", "0", "7");
	struct proc *tool = tool_run_on(work, "offcputime", "-f", "--goroutines", "only", "2");

	check_waits(tool, 7, SELECT);
	CHECK_LACKS(tool->out, "[idle]");
	tool = tool_run_on(work, "offcputime", "-f", "--goroutines", "no", "1");
	CHECK_LACKS(tool->out, "[goroutine: ");
	CHECK_HAS(tool->err, "blocked goroutines have no thread");
}

/* Seven goroutines wait in each place. */
TEST_UNLESS(go_lacks, goroutines_are_kept_apart_on_request)
{
	struct proc *work = work_start("goknown", "0", "7");
	struct proc *tool = tool_run_on(work, "offcputime", "-f", "--per-goroutine", "2");

	check_waits(tool, 7, "goknown;[goroutine ");
	CHECK_EQ(lines_with(tool->out, "main.waitSelect;"), 7);
	CHECK_EQ(lines_with(tool->out, ": select];runtime.goexit;main.waitSelect;"), 7);
	CHECK_LACKS(tool->out, "[goroutine: ");
	tool = tool_run_on(work, "offcputime", "-f", "--comm", "none", "1");
	CHECK_LACKS(tool->out, "[goroutine");
}

TEST_UNLESS(go_lacks, wall_time_has_waits_of_goroutines)
{
	struct proc *work = work_start("goknown", "0", "7");
	struct proc *tool = tool_run_on(work, "profile", "--wall", "-f", "2");

	check_waits(tool, 7, SELECT);
}

/* Estimates from samples have no beginning and end: the file and the total lack them. */
TEST_UNLESS(go_lacks, waits_of_goroutines_are_not_single_events)
{
	struct proc *work = work_start("goknown", "0", "7");
	struct proc *tool = tool_run_on(work, "offcputime", "--format", "heatmap", "1");

	CHECK_LACKS(tool->out, "main.waitSelect");
	CHECK_LACKS(tool->err, "goroutines: ");
	CHECK_HAS(tool->err, "blocked goroutines have no thread");
}

static bool has_in_order(const char *line, const char *const *parts)
{
	for (; line && *parts; parts++)
		line = strstr(line, *parts);
	return line;
}

/* C runs on another stack than the Go code that calls it and is called by it. */
TEST_UNLESS(python_in_go_lacks, python_is_where_go_calls_it)
{
	static const char *const inner[] = {
		";main.run;", ";<module> (<string>);outer (embedded.py);", ";crosscall2;",
		";main.run;", ";inner (embedded.py);spin (embedded.py)",   NULL
	};
	static const char *const outer[] = {
		";main.run;", ";<module> (<string>);outer (embedded.py);spin (embedded.py)", NULL
	};
	struct proc *tool =
		tool_run("profile", "-U", "-f", "-F", "499", "--", work_path("gopython"), "1");
	const char *line = folded_find(tool->out, NULL, "outer (embedded.py);spin (embedded.py)");

	if (!has_in_order(line, outer))
		UNIT_FAIL("%s", line);
	line = folded_find(tool->out, NULL, "inner (embedded.py);spin (embedded.py)");
	if (!has_in_order(line, inner))
		UNIT_FAIL("%s", line);
}
