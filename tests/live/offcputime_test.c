// SPDX-License-Identifier: GPL-2.0-only
/*
 * offcputime, live. The measure is the workload itself: what its threads took by the clock, less
 * what they had of the CPU, is what they were off the CPU.
 */
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "live.h"

/*
 * A clock and a tool may differ by so much, in per mille. An emulated CPU stands still at times: if
 * that is in the middle of a switch, both tasks are charged with it, or none.
 */
static uint64_t tolerance(void)
{
	return (uint64_t)at_size(25, 120);
}

static uint64_t off_cpu_us(const char *said, const char *comm)
{
	return work_value(said, comm, "off_ns") / 1000;
}

/* A nap's clock runs before its thread is off the CPU, too: where that takes long, naps are. */
static int plan_naps(void)
{
	return at_size(397, 31);
}

static int nap_ms(void)
{
	return at_size(2, 19);
}

#define EVER_NEW_KB 24576

#define PLAN_ARGS "3", text_of("%d", plan_naps()), text_of("%d", nap_ms()), "2"

static struct proc *start_plan(void)
{
	return work_start("plan", PLAN_ARGS);
}

/* said: what the workload has told of itself. */
static void check_plan(const struct proc *tool, const char *said)
{
	for (int i = 0; i < 3; i++) {
		const char *comm = text_of("plan-%d", i);
		unsigned long long sum = folded_sum(tool->out, comm, "plan_run");
		unsigned long long truth = off_cpu_us(said, comm);

		if (!is_close(sum, truth, tolerance()))
			UNIT_FAIL("%s: %llu us, not about %llu; %llu with all stacks: %.800s", comm,
				  sum, truth, (unsigned long long)folded_sum(tool->out, comm, NULL),
				  tool->err);
	}
}

TEST(time_off_the_cpu_is_what_the_threads_know_of)
{
	struct proc *work = start_plan();
	struct proc *tool = trace_pid(work, "offcputime");

	CHECK(folded_is_sane(tool->out));
	check_plan(tool, work->out);
	CHECK_CLOSE(truth_value(tool), folded_sum(tool->out, NULL, NULL), 1);
}

TEST(a_command_is_traced_over_its_whole_life)
{
	struct proc *tool = tool_run("offcputime", "--", work_path("plan"), PLAN_ARGS);

	CHECK(folded_is_sane(tool->out));
	check_plan(tool, tool->out);
}

/* The tool stops the command where it begins, and where its libraries are there. */
TEST(a_command_does_not_wait_for_the_tool)
{
	struct proc *tool = tool_run("offcputime", "-f", "--", "/bin/sh", "-c", "/bin/true; exit");

	CHECK(folded_sum(tool->out, "sh", NULL) > 0);
	CHECK_LACKS(tool->out, "ptrace_stop"); /* "ptrace_stop.part.0", as compilers like */
	tool = tool_run("offcputime", "-f", "--state", "t", "--", "/bin/true");
	CHECK_STR(tool->out, "");
}

TEST(stops_by_others_are_the_commands_waits)
{
	struct proc *work = work_start("plan", "1", "13", "2", "0");
	struct proc *tool = tool_start_on(work, "offcputime", "-f", "--state", "t");
	int status;

	CHECK_EQ(ptrace(PTRACE_SEIZE, work->pid, 0, 0), 0);
	CHECK_EQ(ptrace(PTRACE_INTERRUPT, work->pid, 0, 0), 0);
	CHECK_EQ(waitpid(work->pid, &status, __WALL), work->pid);
	proc_linger(tool, 50);
	CHECK_EQ(ptrace(PTRACE_DETACH, work->pid, 0, 0), 0);
	work_do(work);
	tool_stop(tool);
	CHECK(folded_sum(tool->out, "plan", NULL) >= 40000);
}

/* Nearly all of a nap is seen as blocked. */
TEST(blocked_and_runnable_are_parts_of_the_whole)
{
	struct proc *work = start_plan();
	struct proc *tool = tool_start_on(work, "offcputime");
	struct proc *blocked = tool_start_on(work, "offcputime", "--blocked");
	struct proc *runnable = tool_start_on(work, "offcputime", "--runnable");

	work_do(work);
	tool_stop(tool);
	tool_stop(blocked);
	tool_stop(runnable);
	for (int i = 0; i < 3; i++) {
		const char *comm = text_of("plan-%d", i);
		uint64_t whole = folded_sum(tool->out, comm, "plan_run");
		uint64_t naps = folded_sum(blocked->out, comm, "plan_run");
		uint64_t waits = folded_sum(runnable->out, comm, "plan_run");

		CHECK_CLOSE(naps + waits, whole, tolerance());
		CHECK(naps >= (uint64_t)(plan_naps() * nap_ms()) * 1000 * 9 / 10);
		CHECK(waits > 0);
	}
}

TEST(text_splits_time_into_blocked_and_runnable)
{
	struct proc *work = work_start("plan", "1", "13", "5", "0");
	struct proc *tool = trace_pid(work, "offcputime", "--format", "text");
	unsigned long long value, blocked, runnable;
	const char *at = strstr(tool->out, " (blocked ");

	CHECK(at);
	while (at && at > tool->out && at[-1] != '\n')
		at--;
	CHECK(at &&
	      sscanf(at, " %llu (blocked %llu, runnable %llu)", &value, &blocked, &runnable) == 3 &&
	      value == blocked + runnable);
	CHECK_HAS(tool->out, text_of("    -                plan-0 (%d) S\n", work->pid));
}

TEST(a_thread_blocked_throughout_has_waited_for_the_whole_window)
{
	struct proc *work = work_start("pingpong", "1");
	struct proc *tool = tool_run_on(work, "offcputime", "2");
	const char *line = folded_find(tool->out, "wakee", "work_wait_go");

	CHECK_EQ(folded_count(tool->out, NULL, NULL), 1);
	CHECK_CLOSE(folded_sum(tool->out, "wakee", "main;work_wait_go"), truth_ms(tool) * 1000,
		    tolerance());
	CHECK(strstr(line, ";[blocked throughout] "));
	CHECK(folded_count(tool->out, NULL, "[blocked throughout]") == 1);
}

/* More than the kernel tells of at once. */
TEST(each_of_many_threads_that_wait_at_the_start_has_its_stack)
{
	int n = at_size(3000, 600);
	struct proc *work = work_start("threads", text_of("%d", n));
	struct proc *tool = tool_run_on(work, "offcputime", "-v", "1");

	CHECK_EQ(folded_sum(tool->out, "threads", "wait_for_start") +
			 folded_sum(tool->out, "threads", "work_wait_go"),
		 folded_sum(tool->out, NULL, NULL));
	CHECK(folded_sum(tool->out, "threads", "wait_for_start") > 0);
	CHECK(stackless_percent(tool) < 50);
}

/* One thread that never runs, and one that does. */
TEST(waits_throughout_can_be_left_out)
{
	struct proc *idle = work_start("pingpong", "1"),
		    *work = work_start("plan", "1", "13", "5", "0");
	const char *pids = text_of("%d,%d", idle->pid, work->pid);
	struct proc *tool = trace_work(work, ARGV("offcputime", "-x", "-p", pids));

	CHECK_EQ(folded_count(tool->out, NULL, "[blocked throughout]"), 0);
	CHECK_EQ(folded_sum(tool->out, "wakee", NULL), 0);
	CHECK(folded_sum(tool->out, "plan-0", NULL) >= 13 * 5000);
	CHECK_HAS(tool->err, "offcputime: skipped: ");
	CHECK_HAS(tool->err, "s [blocked throughout]\n");
	tool = tool_run_on(idle, "offcputime", "--without-throughout", "1");
	CHECK_STR(tool->out, "");
}

TEST(a_thread_blocked_at_the_end_is_told_so)
{
	struct proc *work = work_start("pingpong", "101");
	struct proc *tool = trace_pid(work, "offcputime");

	CHECK_EQ(folded_count(tool->out, "wakee", "[blocked at end]"), 1);
	CHECK_EQ(folded_count(tool->out, "wakee", "[blocked at start]"), 1);
	CHECK(strstr(folded_find(tool->out, "wakee", "[blocked at end]"), ";work_wait_end;"));
	CHECK(strstr(folded_find(tool->out, "wakee", "[blocked at start]"), ";work_wait_go;"));
}

TEST(intervals_add_up)
{
	struct proc *work = start_plan();
	struct proc *tool = trace_pid(work, "offcputime", "--interval", "50ms");

	check_plan(tool, work->out);
	CHECK_CLOSE(truth_value(tool), folded_sum(tool->out, NULL, NULL), 5);
}

/* Returns the size of the largest numbered report in KiB. */
static uint64_t largest_kb(const char *folder)
{
	off_t most = 0;
	struct stat st;

	for (int i = 1; !stat(text_of("%s/x.%03d.folded", folder, i), &st); i++)
		most = st.st_size > most ? st.st_size : most;
	return (uint64_t)most / 1024;
}

/*
 * As those of an emulator or of a just-in-time compiler, which lives on. On a busy machine a report
 * may be late and have several times as many stacks as the others.
 */
static void check_ever_new(struct proc *work, const char *name)
{
	const char *folder = folder_make();
	struct proc *tool = trace_pid(work, name, "--user-stacks-only", "--interval", "250ms",
				      "--output", text_of("%s/x.folded", folder));

	CHECK(stackless_percent(tool) < 50);
	if (at_size(1, 0)) /* a small one is no measure */
		CHECK_PEAK(tool, EVER_NEW_KB + 10 * largest_kb(folder));
}

TEST(ever_new_stacks_take_no_more_than_some)
{
	check_ever_new(work_start("paths", "16", text_of("%d", at_size(7500, 50)), "0"),
		       "offcputime");
	check_ever_new(work_start("paths", "16", text_of("%d", at_size(4000, 50)), "0", "lock"),
		       "locks");
}

/* Nothing of such a wait is counted in one report after another, and then it is. */
static void check_rare_wait(const char *interval, const char *option, const char *value)
{
	struct proc *work = work_start("paths", "1", "10", text_of("%d", at_size(2950, 7950)));
	struct proc *tool = trace_pid(work, "offcputime", "--interval", interval, option, value);

	if (!folded_sum(tool->out, "rarely", "wait_rarely;sleep_long;work_sleep"))
		UNIT_FAIL("%s: %.400s", option, tool->out);
	CHECK(stackless_percent(tool) < 50);
}

TEST(what_is_counted_of_a_wait_at_its_very_end_has_its_stack)
{
	int ms = at_size(200, 500);
	const char *interval = text_of("%dms", ms);

	check_rare_wait(interval, "--runnable", NULL);
	check_rare_wait(interval, "-x", NULL);
	check_rare_wait(interval, "-m", text_of("%dms", at_size(2900, 7500)));
	check_rare_wait(interval, "-M", "100s");
}

/* Their names take room in it, but nothing is lost where there is none. */
TEST(waits_that_are_not_wanted_are_not_lost)
{
	struct proc *work = work_start("threads", "100"), *tool;

	work_go(work);
	tool = tool_run_on(work, "offcputime", "-m", "10000000", "--stack-storage-size", "1", "1");
	CHECK_STR(tool->out, "");
	CHECK_LACKS(tool->err, "full");
}

/*
 * The threads of "states" that have their waits, as letters. A wait for the lock of the process's
 * mappings may be a sleeper's, too.
 */
static const char *states_seen(const char *option)
{
	struct proc *work = work_start("states", text_of("%d", usable_cpu(0)));
	struct proc *tool = trace_pid(work, "offcputime", "--state", option, "-m", "100");
	bool sleeps = folded_sum(tool->out, "st-sleep", "state_sleep") > 23 * 5000 / 2;
	bool waits = folded_sum(tool->out, "st-vfork", "state_vfork") > 23 * 5000 / 2;
	bool spins = folded_count(tool->out, "st-spin", "state_compete");

	return text_of("%s%s%s", sleeps ? "S" : "", waits ? "D" : "", spins ? "R" : "");
}

TEST(states_are_chosen_by_letter_and_mask)
{
	static const char *const options[][2] = {
		{ "D", "D" }, { "SD", "SD" }, { "1", "S" }, { "2", "D" }, { "0x3", "SD" }
	};

	for (size_t i = 0; i < ARRAY_SIZE(options); i++)
		CHECK_CASE_STR(options[i][0], states_seen(options[i][0]), options[i][1]);
}

/*
 * Sleepers are preempted at times too, so that R shows them now and then; and by others than the
 * rival, whom 100 us are enough.
 */
TEST(preempted_threads_are_in_state_r)
{
	CHECK(strchr(states_seen("R"), 'R'));
	CHECK(strchr(states_seen("0"), 'R'));
	CHECK(!strchr(states_seen("S"), 'R'));
}

TEST(text_shows_states_by_letter)
{
	struct proc *work = work_start("states", text_of("%d", usable_cpu(0)));
	struct proc *tool = trace_pid(work, "offcputime", "--format", "text");

	CHECK_HAS(tool->out, text_of(" st-sleep (%d) S\n", work->pid));
	CHECK_HAS(tool->out, text_of(" st-vfork (%d) D\n", work->pid));
	CHECK_HAS(tool->out, text_of(" st-spin (%d) R\n", work->pid));
}

/*
 * An emulated CPU that stands still makes a long wait short as well as a short one long. On a busy
 * machine so does a wait for the CPU, which is a part of the wait, or a timer that is late. Where
 * that made dozes long enough, the thread's time off the CPU is longer than planned by as much.
 */
TEST(short_and_long_waits_can_be_left_out)
{
	int nap_ms = at_size(40, 600), n_rounds = at_size(13, 5), doze_ms = 8;
	const char *naps = text_of("%d", nap_ms), *rounds = text_of("%d", n_rounds);
	const char *bound_us = text_of("%d", nap_ms * 500), *bound = text_of("%dms", nap_ms / 2);
	struct proc *work = work_start("plan", "1", rounds, naps, "0", text_of("%d", doze_ms));
	uint64_t planned_us = (uint64_t)(n_rounds * (nap_ms + doze_ms)) * 1000;
	struct proc *tool = trace_pid(work, "offcputime", "-m", bound_us);

	CHECK(folded_sum(tool->out, "plan-0", "plan_nap") >= (uint64_t)nap_ms * 4 * 1000);
	CHECK(folded_sum(tool->out, "plan-0", "plan_doze") <=
	      2 * (off_cpu_us(work->out, "plan-0") + 1000 - planned_us));
	work = work_start("plan", "1", rounds, naps, "0", text_of("%d", doze_ms));
	tool = trace_pid(work, "offcputime", "-M", bound, "--state",
			 "S"); /* and not when it is preempted there */
	if (thread_waited_us(work->pid) < (uint64_t)nap_ms * 500)
		CHECK_EQ(folded_count(tool->out, "plan-0", "plan_nap"), 0);
	CHECK(folded_sum(tool->out, "plan-0", "plan_doze") > 0);
}

#define LONG_NAPS at_size(7, 3)

/*
 * Naps of several intervals, each followed by a doze, which is shorter than one. They take no less
 * than what is planned, and no more than what the thread knows of. Those that are left out may have
 * waited for a CPU there, or become longer: by what the thread was off the CPU beyond the plan.
 */
static void check_long_naps(const char *option, int bound_ms, bool has_naps, bool has_dozes)
{
	int nap_ms = at_size(300, 1600), doze_ms = nap_ms / 8;
	uint64_t naps_us = (uint64_t)(nap_ms * LONG_NAPS) * 1000, naps;
	uint64_t dozes_us = (uint64_t)(doze_ms * LONG_NAPS) * 1000, dozes;
	struct proc *work = work_start("plan", "1", text_of("%d", LONG_NAPS), text_of("%d", nap_ms),
				       "0", text_of("%d", doze_ms));
	struct proc *tool = trace_pid(work, "offcputime", option, text_of("%dms", bound_ms),
				      "--interval", text_of("%dms", nap_ms / 5));
	uint64_t most_us = off_cpu_us(work->out, "plan-0") + 1000 - naps_us - dozes_us;
	uint64_t waited_us = thread_waited_us(work->pid); /* what may be in parts of their own */

	naps = folded_sum(tool->out, "plan-0", "plan_nap");
	dozes = folded_sum(tool->out, "plan-0", "plan_doze");
	if (has_naps ? naps + waited_us < naps_us * 99 / 100 || naps > naps_us + most_us
		     : naps > 2 * most_us)
		UNIT_FAIL("%s %d: naps of %llu us, not %llu", option, bound_ms,
			  (unsigned long long)naps, (unsigned long long)naps_us);
	if (has_dozes ? dozes + waited_us < dozes_us * 99 / 100 || dozes > dozes_us + most_us
		      : dozes > 2 * most_us)
		UNIT_FAIL("%s %d: dozes of %llu us, not %llu", option, bound_ms,
			  (unsigned long long)dozes, (unsigned long long)dozes_us);
}

/* Windows cut waits, but a wait is as long as it is. */
TEST(lengths_are_those_of_waits_not_of_their_parts_in_intervals)
{
	int nap_ms = at_size(300, 1600);

	check_long_naps("-m", nap_ms / 2, true, false);
	check_long_naps("-M", nap_ms / 2, false, true);
	check_long_naps("-M", nap_ms * 2, true, true);
}

/* The tracing ends in the middle of the wait, as does each of its intervals. */
TEST(a_wait_that_goes_on_is_as_long_as_so_far)
{
	int window_ms = at_size(300, 1600);
	const char *interval = text_of("%dms", window_ms), *all = text_of("%dms", window_ms * 3);
	struct proc *work = work_start("pingpong", "1"), *tool;

	tool = tool_run_on(work, "offcputime", "-M", text_of("%dms", window_ms * 2), "--interval",
			   interval, all);
	CHECK_EQ(folded_sum(tool->out, NULL, NULL), 0);
	tool = tool_run_on(work, "offcputime", "-M", text_of("%dms", window_ms * 99), "-m",
			   interval, "--interval", interval, all);
	CHECK_CLOSE(folded_sum(tool->out, "wakee", "work_wait_go"), truth_ms(tool) * 1000,
		    tolerance());
	CHECK_EQ(folded_count(tool->out, "wakee", "[blocked throughout]"), 1);
}

TEST(threads_that_the_kernel_makes_inside_of_a_process_have_no_user_stack)
{
	struct proc *work = work_start("uring", "7"), *tool;

	if (!work_value(work->out, "uring", "threads"))
		SKIP("io_uring makes no threads inside of processes here");
	tool = trace_pid(work, "offcputime", "-f");
	CHECK(lines_from(tool->out, "iou-sqp-") > 0);
	CHECK(lines_from(tool->out, "iou-wrk-") > 0);
	CHECK_LACKS(tool->out, "[unknown]");
	CHECK(said_percent(tool, " % complete") >= 95);
	tool = tool_run_on(work, "offcputime", "-k", "100ms");
	CHECK(lines_from(tool->out, "iou-") > 0);
	CHECK_EQ(folded_count(tool->out, "uring", NULL), 0);
	tool = tool_run_on(work, "offcputime", "-u", "100ms");
	CHECK_EQ(lines_from(tool->out, "iou-"), 0);
	CHECK_EQ(folded_count(tool->out, "uring", NULL), 1);
}

/* A thread of the kernel, which rests most of the time, and a workload. */
TEST_UNLESS(kernel_threads_lack, kernel_and_user_threads_can_be_left_out)
{
	struct proc *work = work_start("pingpong", "1"), *tool;
	const char *both = text_of("2,%d", work->pid);

	tool = tool_run("offcputime", "-k", "-p", both, "500ms");
	CHECK(folded_count(tool->out, "kthreadd", NULL) > 0);
	CHECK_EQ(folded_count(tool->out, "wakee", NULL), 0);
	CHECK(folded_is_sane(tool->out));
	tool = tool_run("offcputime", "-u", "-p", both, "500ms");
	CHECK_EQ(folded_count(tool->out, "kthreadd", NULL), 0);
	CHECK_EQ(folded_count(tool->out, "wakee", "main;work_wait_go"), 1);
	CHECK(folded_is_sane(tool->out));
}

TEST(kernel_or_user_frames_can_be_left_out)
{
	struct proc *work = work_start("plan", "1", "13", "2", "0"), *tool;

	tool = trace_pid(work, "offcputime", "-U");
	CHECK(folded_count(tool->out, "plan-0", "main;plan_thread;plan_run;plan_nap"));
	CHECK_EQ(folded_count(tool->out, NULL, "hrtimer_nanosleep"), 0);
	work = work_start("plan", "1", "13", "2", "0");
	tool = trace_pid(work, "offcputime", "-K");
	CHECK_EQ(lines_with(tool->out, ";plan_"), 0);
	CHECK(folded_count(tool->out, "plan-0", "hrtimer_nanosleep"));
}

TEST(frames_are_in_order_from_the_root_to_the_leaf)
{
	struct proc *work = work_start("plan", "2", "13", "2", "0");
	struct proc *tool = trace_pid(work, "offcputime", "-d", "--state", "S");
	const char *line = folded_find(tool->out, "plan-0", "main;plan_thread;plan_run;plan_nap");
	const char *user = strstr(line, ";plan_nap;");
	const char *border = user ? strstr(user, ";-;") : NULL;

	CHECK(border && strstr(border, ";hrtimer_nanosleep")); /* behind all user frames */
	CHECK(strstr(line, ";-;") == border);
	CHECK(folded_count(tool->out, "plan-1", "plan_thread;plan_run;plan_nap"));
	CHECK_EQ(folded_count(tool->out, "plan-1", "main"), 0);
}

/*
 * An interrupt while the kernel is on its way to a program is nobody's: what it does lies on top.
 */
static bool is_interrupted(const char *line)
{
	return strstr(line, ";asm_sysvec_") || strstr(line, "_interrupt;") ||
	       strstr(line, ";el1h_64_irq");
}

static void check_no_tracer_frames(const char *text)
{
	static const char *const prefixes[] = { ";bpf_trace_run",   ";__bpf_trace_",
						";__traceiter_",    ";bpf_get_stack",
						";bpf_trampoline_", ";bpf_get_task_stack" };

	for (const char *end; (end = strchr(text, '\n')); text = end + 1) {
		const char *line = text_of("%.*s\n", (int)(end - text), text);

		for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
			if (!is_interrupted(line) && lines_with(line, prefixes[i]))
				UNIT_FAIL("%s is in: %s", prefixes[i], line);
		CHECK(!folded_has_program(line, "waits_"));
	}
}

/* Walks are remembered by how they begin: here all begin alike. */
TEST(stacks_that_differ_in_one_deep_frame_are_told_apart)
{
	static const char *const sides[] = { "left", "right" };
	struct proc *work = work_start("alike", text_of("%d", at_size(199, 31)));
	struct proc *tool = trace_pid(work, "offcputime", "-f");

	for (int i = 0; i < 2; i++) {
		uint64_t sum = folded_sum(tool->out, "alike", text_of("alike_%s", sides[i]));

		CHECK_CLOSE(work_value(work->out, "alike", text_of("%s_ns", sides[i])) / 1000, sum,
			    200);
	}
}

TEST(wakers_stand_behind_the_wakees_and_upside_down)
{
	struct proc *work = work_start("pingpong", "1009", text_of("%d", usable_cpu(0)));
	int waker = (int)work_value(work->out, NULL, "waker"); /* its tables are there, too, then */
	struct proc *tool = trace_work(work, ARGV("offcputime", "--waker", "-p",
						  text_of("%d,%d", work->pid, waker)));
	const char *line = folded_find(tool->out, "wakee", "waker_poke;waker_main;main");
	const char *mark = strstr(line, ";--;");

	CHECK(folded_is_sane(tool->out));
	check_no_tracer_frames(tool->out);
	CHECK(!strncmp(line, "wakee;", 6));
	CHECK(mark && strstr(mark, ";waker_poke;waker_main;"));
	CHECK(mark && strstr(mark, ";waker "));
	CHECK(strstr(line, ";wakee_main;wakee_wait;") &&
	      strstr(line, ";wakee_main;wakee_wait;") < mark);
}

/* Maps and unmaps memory until it is killed: the tool's programs run at each of these. */
static pid_t start_mapper(int cpu)
{
	pid_t pid = fork();
	cpu_set_t set;

	if (pid)
		return pid;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
	for (;;) {
		void *map = mmap(NULL, 1 << 16, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		munmap(map, 1 << 16);
	}
}

/* The interrupted program and its callers are not the waker. */
TEST(a_timer_that_interrupts_the_tool_is_the_waker)
{
	struct proc *work = work_start("plan", "1", "999", "1", "0", "0", "napper");
	pid_t mappers[] = { start_mapper(usable_cpu(0)),
			    start_mapper(usable_cpu(usable_cpus() - 1)) };
	struct proc *tool = trace_pid(work, "offcputime", "--waker", "--state", "S");
	const char *line;

	for (size_t i = 0; i < ARRAY_SIZE(mappers); i++) {
		kill(mappers[i], SIGKILL);
		waitpid(mappers[i], NULL, 0);
	}
	CHECK(folded_sum(tool->out, "napper", "[interrupt] timer") > 0);
	for (const char *rest = tool->out; (line = line_with(&rest, ";plan_nap;", ";--;"));)
		CHECK_HAS(line, ";[interrupt] timer");
}

/*
 * The timer finds anybody running: a spinning thread of the same process, or the idle task. Not
 * each wait has a waker: the kernel loses single events.
 */
static void check_timers(const char *option)
{
	struct proc *work = work_start("states", text_of("%d", usable_cpu(0)));
	struct proc *tool = trace_pid(work, "offcputime", "--waker", "--comm", "st-sleep",
				      "--state", "S", option);
	uint64_t slept = folded_sum(tool->out, "st-sleep", "state_sleep");
	uint64_t by_timer = folded_sum(tool->out, "st-sleep", "[interrupt] timer");
	const char *line;

	CHECK(by_timer > 0 && by_timer * 10 >= slept * 7);
	for (const char *rest = tool->out; (line = line_with(&rest, ";state_sleep;", ";--;"));) {
		CHECK_HAS(line, ";[interrupt] timer");
		CHECK_LACKS(line, ";st-spin");
		CHECK_LACKS(line, ";swapper");
	}
	CHECK(folded_is_sane(tool->out));
}

TEST(a_timer_is_the_waker_and_not_who_it_came_upon)
{
	check_timers("-d");
	check_timers("-U"); /* without kernel frames, too */
}

/* The tracer's frames aren't in stacks of a kernel thread blocked before, nor of brief threads. */
TEST_UNLESS(kernel_threads_lack, the_tracers_own_frames_are_not_shown)
{
	struct proc *work = work_start("pingpong", "1009");
	struct proc *tool =
		trace_work(work, ARGV("offcputime", "--waker", "-p", text_of("2,%d", work->pid)));

	CHECK(folded_count(tool->out, NULL, "kthreadd"));
	CHECK(folded_is_sane(tool->out));
	check_no_tracer_frames(tool->out);
}

/* 7 children with one name and one stack each are one line, and long gone when it is printed. */
TEST(processes_that_have_ended_keep_their_symbols)
{
	struct proc *work = work_start("family", "7");
	struct proc *tool = trace_pid(work, "offcputime", "--follow", "--comm", "kid", "--state",
				      "S", "-m", "1000");
	uint64_t all = folded_sum(tool->out, "kid", "kid_nap");

	CHECK(folded_is_sane(tool->out));
	CHECK(all >= 7 * 13 * 1000);
	CHECK(folded_count(tool->out, "kid", "main;kid_main;kid_nap") < 7);
	CHECK(folded_sum(tool->out, "kid", "[unknown]") < all / 10); /* a busy tool may be late */
}

/*
 * Each leaf of the tree blocks once, and in a stack of its own. Where others want the CPUs, the
 * kernel loses some switches, for every tracer.
 */
TEST(no_stack_of_16384_is_lost)
{
	int levels = at_size(14, 11);
	struct proc *work = work_start("tree", text_of("%d", levels), "nap", "1");
	struct proc *tool = trace_pid(work, "offcputime", "-U", "--state", "S");

	CHECK_SWITCHES(folded_count(tool->out, "tree", "leaf_nap"), 1ULL << levels);
	CHECK(folded_is_sane(tool->out));
	CHECK_NOTHING_FULL(tool);
}

/* 512 stacks, but not at once: what is there is taken out before the table is full. */
TEST(more_stacks_than_the_table_has_room_for_are_counted)
{
	struct proc *tool = tool_run("offcputime", "-U", "--state", "S", "--stack-storage-size",
				     "251", "--", work_path("tree"), "9", "nap", "4000");

	CHECK_SWITCHES(folded_count(tool->out, "tree", "leaf_nap"), 512);
	CHECK_NOTHING_FULL(tool);
}

/* There is room for one, and taking it out takes longer than the next nap. */
TEST(a_full_table_is_told_with_its_share)
{
	struct proc *tool = tool_run("offcputime", "-U", "--stack-storage-size", "1", "--",
				     work_path("tree"), "9", "nap", "1");
	double percent = said_percent(tool, " % of microseconds lost: map full\n");

	CHECK_HAS(tool->err, "hint: raise --stack-storage-size\n");
	CHECK(percent > 0 && percent < 100);
}

/* Returns the number after the last key in the text; 0 if there is none. */
static unsigned long long last_number(const char *text, const char *key)
{
	const char *last = NULL, *at = text;

	while ((at = strstr(at, key)))
		last = at += strlen(key);
	return last ? strtoull(last, NULL, 10) : 0;
}

TEST(a_report_tells_what_was_lost_in_its_time)
{
	struct proc *work = work_start("tree", "9", "nap", "1");
	struct proc *tool = tool_start_on(work, "offcputime", "-U", "--stack-storage-size", "1",
					  "--format", "json", "--interval", "200ms");
	unsigned long long lost = 0;

	work_go(work);
	for (int i = 0; i < 6000 && !lost; i++) {
		proc_linger(tool, 20);
		lost = last_number(tool->out, "\"lost\":");
	}
	CHECK(lost > 0);
	work_wait_done(work);
	wait_for_reports(tool, 3);
	CHECK_EQ(last_number(tool->out, "\"lost\":"), 0);
	tool_stop(tool);
	CHECK_HAS(tool->err, "lost: map full");
}
