// SPDX-License-Identifier: GPL-2.0-only
/*
 * profile --wall, live. The measure is what the workload's threads know of their own time: how long
 * they were blocked, how long they waited for a CPU, and that they had one for the rest.
 */
#include "live.h"

/* A part may be wrong by so much of the whole, in per mille, and the whole by half of that. */
static uint64_t tolerance(void)
{
	return (uint64_t)at_size(20, 120);
}

static struct proc *start_parts(void)
{
	return work_start("parts", text_of("%d", at_size(1200, 2400)),
			  text_of("%d", usable_cpu(0)));
}

/* Returns the time that a workload's thread itself prints for a part, in microseconds. */
static uint64_t said_us(const struct proc *work, const char *comm, const char *part)
{
	return work_value(work->out, comm, text_of("%s_ns", part)) / 1000;
}

static void check_part(const char *folded, const struct proc *work, const char *comm,
		       const char *part, const char *mark)
{
	uint64_t all = said_us(work, comm, "all"), truth = said_us(work, comm, part);
	uint64_t seen = folded_sum(folded, comm, mark), naming = said_us(work, comm, "naming");

	if (seen + all * tolerance() / 1000 < truth ||
	    seen > truth + naming + all * tolerance() / 1000)
		UNIT_FAIL("%s %s is %llu us, not %llu of %llu: %s", comm, mark,
			  (unsigned long long)seen, (unsigned long long)truth,
			  (unsigned long long)all, folded);
}

/* It may have had its name for a moment before and after. */
static void check_sum(const char *folded, const struct proc *work, const char *comm)
{
	uint64_t all = said_us(work, comm, "all"), naming = said_us(work, comm, "naming");
	uint64_t seen = folded_sum(folded, comm, NULL), tolerated = all * tolerance() / 2000;

	if (seen + tolerated < all || seen > all + naming + tolerated)
		UNIT_FAIL("%s is %llu us, not %llu to %llu", comm, (unsigned long long)seen,
			  (unsigned long long)all, (unsigned long long)(all + naming));
}

/* A thread's parts, and that they are all that there is of it. */
static void check_thread(const char *folded, const struct proc *work, const char *comm)
{
	check_part(folded, work, comm, "on_cpu", "[on cpu]");
	check_part(folded, work, comm, "blocked", "[blocked]");
	check_part(folded, work, comm, "runnable", "[runnable]");
	check_sum(folded, work, comm);
}

static void check_threads(const char *folded, const struct proc *work)
{
	static const char *const names[] = { "p-spin",	  "p-sleep",  "p-lock", "p-rival-a",
					     "p-rival-b", "p-before", "p-after" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		check_thread(folded, work, names[i]);
}

TEST(each_part_of_each_threads_time_is_right)
{
	struct proc *work = start_parts();
	struct proc *tool = trace_pid(work, "profile", "--wall");

	CHECK(folded_is_sane(tool->out));
	check_threads(tool->out, work);
	CHECK_CLOSE(truth_value(tool), folded_sum(tool->out, NULL, NULL), 1);
	CHECK_EQ(folded_sum(tool->out, NULL, "[on cpu]") +
			 folded_sum(tool->out, NULL, "[blocked]") +
			 folded_sum(tool->out, NULL, "[runnable]"),
		 folded_sum(tool->out, NULL, NULL));
	CHECK_HAS(tool->err, "profile: on cpu: ");
	CHECK_HAS(tool->err, " to the on-CPU time\n");
	CHECK_LACKS(tool->err, "map full");
}

TEST(each_part_has_the_stack_where_it_was)
{
	struct proc *work = start_parts();
	struct proc *tool = trace_pid(work, "profile", "--wall", "-U");
	uint64_t spun = folded_sum(tool->out, "p-spin", "[on cpu]");

	CHECK(folded_sum(tool->out, "p-spin", "parts_spin;parts_burn;[on cpu]") * 10 > spun * 9);
	CHECK(folded_sum(tool->out, "p-sleep", "parts_sleep") * 10 >
	      folded_sum(tool->out, "p-sleep", NULL) * 9);
	CHECK(folded_sum(tool->out, "p-lock", "parts_lock") * 10 >
	      folded_sum(tool->out, "p-lock", "[blocked]") * 9);
	CHECK(folded_sum(tool->out, "p-rival-a", "parts_burn;[runnable]") > 0);
}

TEST(intervals_add_up)
{
	struct proc *work = start_parts();
	struct proc *tool = trace_pid(work, "profile", "--wall", "--interval", "100ms");

	check_threads(tool->out, work);
}

/* So many samples that their interrupts would be more than all time, and next to none. */
TEST(samples_are_scaled_however_many_there_are)
{
	static const char *const rates[] = { "1", "997" };

	for (size_t i = 0; i < 2; i++) {
		struct proc *work = start_parts();
		struct proc *tool = trace_pid(work, "profile", "--wall", "-F", rates[i]);

		check_threads(tool->out, work);
	}
}

/* A thread without a sample keeps its time, without a stack. */
TEST(time_that_no_sample_has_met_is_there)
{
	struct proc *work = work_start("family", "5");
	struct proc *tool =
		trace_pid(work, "profile", "--wall", "-F", "1", "--follow", "--comm", "kid");

	CHECK(folded_sum(tool->out, "kid", "[on cpu]") >= 5 * 20 * 1000);
	CHECK(folded_sum(tool->out, "kid", "kid_nap") >= 5 * 13 * 1000);
}

TEST(a_command_is_traced_over_its_whole_life)
{
	struct proc *tool = tool_run("profile", "--wall", "--", work_path("parts"),
				     text_of("%d", at_size(1200, 2400)));

	check_threads(tool->out, tool);
	CHECK_LACKS(tool->out, "ptrace_stop"); /* where the tool holds it */
}

/* ---- by thread ---- */

/* "tidN;comm;..." of a thread: its sum. */
static uint64_t sum_of_tid(const char *text, uint64_t tid)
{
	const char *start = text_of("tid%llu;", (unsigned long long)tid);
	uint64_t sum = 0;

	for (const char *line = text; *line; line = strchrnul(line, '\n'), line += *line == '\n')
		if (!strncmp(line, start, strlen(start)))
			sum += strtoull(memrchr(line, ' ', (size_t)(strchrnul(line, '\n') - line)),
					NULL, 10);
	return sum;
}

/* Two threads have one name; each has all of its own time, the first one that of the window. */
TEST(threads_are_told_apart)
{
	struct proc *work = work_start("plan", "2", "13", "20", "20", "0", "twin");
	struct proc *tool = trace_pid(work, "profile", "--wall", "--per-thread");
	uint64_t first = (uint64_t)work->pid, second = work_value(work->out, "twin", "tid") - first;

	CHECK(folded_is_sane(tool->out));
	CHECK_CLOSE(sum_of_tid(tool->out, first), truth_ms(tool) * 1000, 2 * tolerance());
	CHECK(sum_of_tid(tool->out, second) >= 13 * (20 + 20) * 990); /* us, and 1 % less */
	CHECK_EQ(sum_of_tid(tool->out, first) + sum_of_tid(tool->out, second),
		 folded_sum(tool->out, NULL, NULL));
	CHECK_EQ(folded_sum(tool->out, "twin", NULL), folded_sum(tool->out, NULL, NULL));
}

/* The thread takes over the main thread's id; its earlier time has the old id. */
TEST(time_of_a_thread_that_executes_a_program_is_counted_once)
{
	struct proc *tool = tool_run("profile", "--wall", "--per-thread", "-F", "997", "--",
				     work_path("spin"), "-t", "2", "-m", "200", "-x");

	CHECK_CLOSE(folded_sum(tool->out, NULL, "[on cpu]"),
		    work_value(tool->out, "spin", "process_ns") / 1000,
		    (uint64_t)at_size(100, 200));
}

TEST(samples_alone_are_told_apart_too)
{
	struct proc *work = work_start("spin", "-t", "2", "-m", "300", "-n", "twin");
	struct proc *tool = trace_pid(work, "profile", "--per-thread");

	CHECK(sum_of_tid(tool->out, (uint64_t)work->pid) > 0);
	CHECK_EQ(lines_from(tool->out, "tid"), lines_with(tool->out, ""));
}

/* ---- filters ---- */

/* It is there all the time, and so long it is shown, in one window or in many. */
TEST(only_the_thread_that_was_asked_for)
{
	static const char *const intervals[] = { "10s", "70ms" };

	for (size_t i = 0; i < 2; i++) {
		struct proc *work = start_parts();
		struct proc *tool = trace_work(work, ARGV("profile", "--wall", "--interval",
							  intervals[i], "-L", pid_text(work->pid)));

		CHECK_CLOSE(folded_sum(tool->out, "parts", NULL), truth_ms(tool) * 1000,
			    tolerance());
		CHECK_EQ(folded_count(tool->out, "parts", NULL),
			 folded_count(tool->out, NULL, NULL));
	}
}

/* It gets the name while it runs, and loses it while it runs. */
TEST(only_threads_of_that_name)
{
	static const char *const names[] = { "p-before", "p-after", "p-rival-a" };

	for (size_t i = 0; i < 3; i++) {
		struct proc *work = start_parts();
		struct proc *tool = trace_work(work, ARGV("profile", "--wall", "--comm", names[i]));

		check_thread(tool->out, work, names[i]);
		CHECK_EQ(folded_count(tool->out, names[i], NULL),
			 folded_count(tool->out, NULL, NULL));
	}
}

TEST_UNLESS(cgroups_lack, only_a_cgroup)
{
	const char *cgroup = cgroup_make("wall");
	struct proc *work = start_parts(), *tool;

	CHECK(cgroup_add(cgroup, work->pid));
	tool = trace_work(work, ARGV("profile", "--wall", "--cgroup", cgroup));
	check_threads(tool->out, work);
}

/* The time of all CPUs that the machine below this one has taken. */
static uint64_t stolen_us(void)
{
	unsigned long long ticks = 0;

	sscanf(file_read("/proc/stat"), "cpu %*u %*u %*u %*u %*u %*u %*u %llu", &ticks);
	return ticks * 1000000 / (uint64_t)sysconf(_SC_CLK_TCK);
}

/*
 * It spins in the traced cgroup, and is in another one when its window ends. The kernel does not
 * count time that is stolen from a thread as the thread's.
 */
TEST_UNLESS(cgroups_lack, a_thread_that_leaves_the_cgroup_keeps_its_time_there)
{
	const char *cgroup = cgroup_make("left"), *other = cgroup_make("elsewhere");
	struct proc *work = work_start("plan", "1", "30", "5", "20"), *tool;
	uint64_t ran_ns, stolen = stolen_us(), seen;

	CHECK(cgroup_add(cgroup, work->pid));
	tool = tool_start("profile", "--wall", "-f", "--cgroup", cgroup);
	work_do(work);
	ran_ns = thread_cpu_ns(work->pid);
	CHECK(cgroup_add(other, work->pid));
	stolen = stolen_us() - stolen;
	tool_stop(tool);
	seen = folded_sum(tool->out, "plan-0", "[on cpu]");
	if (seen < ran_ns / 1000 || seen > ran_ns / 1000 + stolen)
		CHECK_CLOSE(seen, ran_ns / 1000, tolerance());
}

/* Its samples are in both cgroups, and so must its time be. */
TEST_UNLESS(cgroups_lack, a_thread_that_moves_has_its_time_in_each_cgroup)
{
	const char *first = cgroup_make("first"), *second = cgroup_make("second");
	struct proc *work = work_start("plan", "1", "40", "5", "20"), *tool;

	CHECK(cgroup_add(first, work->pid));
	tool = tool_start_on(work, "profile", "--wall", "--format", "json");
	work_go(work);
	proc_linger(work, 400);
	CHECK(cgroup_add(second, work->pid));
	work_wait_done(work);
	tool_stop(tool);
	CHECK_HAS(tool->out, text_of("\"cgroup\":\"%s\"", strrchr(first, '/')));
	CHECK_CLOSE(truth_value(tool), truth_ms(tool) * 1000, tolerance());
}

TEST(stacks_are_chosen_by_their_kind)
{
	struct proc *work = start_parts();
	struct proc *tool = trace_pid(work, "profile", "--wall", "--only", "^.on cpu.$");

	CHECK(folded_count(tool->out, NULL, NULL) > 0);
	CHECK_EQ(folded_sum(tool->out, NULL, "[on cpu]"), folded_sum(tool->out, NULL, NULL));
	CHECK_HAS(tool->err, "filtered out by --only or --without: ");
}

/* ---- CPU quotas ---- */

/* Threads that may not run are runnable. */
TEST_UNLESS(quotas_lack, threads_of_a_throttled_cgroup_are_runnable)
{
	const char *path = cgroup_make_limited("limited", 20);
	struct proc *tool;
	uint64_t all;
	struct proc *work = work_start("parts", text_of("%d", at_size(400, 800)));

	CHECK(cgroup_add(path, work->pid));
	tool = trace_pid(work, "profile", "--wall");
	all = said_us(work, "p-spin", "all");
	check_sum(tool->out, work, "p-spin");
	CHECK(folded_sum(tool->out, "p-spin", "[on cpu]") * 2 < all);
	CHECK(folded_sum(tool->out, "p-spin", "[blocked]") * 20 < all);
}

/* ---- what offcputime has too ---- */

TEST(wakers_stand_behind_the_wakees)
{
	struct proc *work = work_start("pingpong", "1009", text_of("%d", usable_cpu(0)));
	int waker = (int)work_value(work->out, NULL, "waker"); /* its tables are there, too, then */
	struct proc *tool = trace_work(work, ARGV("profile", "--wall", "--waker", "-p",
						  text_of("%d,%d", work->pid, waker)));
	const char *line = folded_find(tool->out, "wakee", "waker_poke;waker_main;main");

	CHECK(folded_is_sane(tool->out));
	CHECK(strstr(line, ";--;"));
	CHECK(strstr(line, ";waker;[blocked] ") || strstr(line, ";waker;[runnable] "));
}

/* The loop rests, but what it does on CPU is no rest. */
TEST(waits_at_rest_are_one_row)
{
	struct proc *work = work_start("resting", "300");
	struct proc *tool = trace_pid(work, "profile", "--wall", "--no-idle");

	CHECK(folded_sum(tool->out, "loop", "[idle];[blocked]") >
	      folded_sum(tool->out, "loop", "ev_run"));
	CHECK_EQ(folded_count(tool->out, NULL, "[idle]"),
		 folded_count(tool->out, NULL, "[idle];[blocked]")); /* awake, it isn't at rest */
	CHECK(folded_sum(tool->out, "handler", "ev_run;handle_request;wait_for_lock") > 0);
	CHECK_HAS(tool->err, "in worker pools and event loops, shown as [idle]\n");
}

/* A peek counts runs up to its moment, and changes no sum. */
TEST(a_peek_shows_what_runs)
{
	struct proc *work = work_start("spin", "-m", "1500"), *tool;

	tool = tool_start_on(work, "profile", "--wall", "--format", "text");
	work_go(work);
	for (int i = 0; i < 100 && !strstr(tool->out, "[on cpu]\n");
	     i++) { /* it has had one then */
		proc_signal(tool, SIGUSR1);
		proc_linger(tool, 300);
	}
	CHECK_HAS(tool->out, "[on cpu]\n");
	work_wait_done(work);
	tool_stop(tool);
	CHECK_CLOSE(truth_value(tool), truth_ms(tool) * 1000, tolerance());
}

/* ---- formats ---- */

/* Texts that each format has. */
static const struct {
	const char *format, *parts[8];
} formats[] = {
	{ "text",
	  { "    parts_burn\n", "    -                p-spin (", " [on cpu]\n", " S [blocked]\n",
	    " R [runnable]\n", ") tid " } },
	{ "md",
	  { "| blocked            | ", "\n## on cpu\n", "\n## runnable\n", "p-spin: ", "parts_burn",
	    "\nNext: `" } },
	{ "json",
	  { "\"unit\":\"nanoseconds\"", "\"remark\":\"on cpu\"", "\"remark\":\"blocked\"",
	    "\"remark\":\"runnable\"", ",\"tid\":" } },
	{ "svg",
	  { "<title>[on cpu] (", "<title>[blocked] (", "<rect class=\"c", "<rect class=\"o",
	    "<title>tid" } },
	{ "pprof", { "\x1f\x8b" } },
};

static const char *reports_lack(void)
{
	return access(tool_path("tracelets"), X_OK) ? "the folder of the tools has no tracelets"
						    : NULL;
}

/* A report fits into a ticket: it is one page about the requested process. */
TEST_UNLESS(reports_lack, a_report_is_one_page)
{
	struct proc *work = start_parts(), *tool;

	tool = tool_launch("tracelets", "report", "-p", pid_text(work->pid), "-v");
	CHECK(proc_wait_for(tool, "tracing..."));
	work_do(work);
	tool_stop(tool);
	CHECK(strlen(tool->out) <= 4096);
	CHECK_HAS(tool->out, text_of(", process %d (`", (int)work->pid));
	CHECK_HAS(tool->out, " % complete");
	CHECK_HAS(tool->out, "\n| runnable           | ");
	CHECK_HAS(tool->out, "  \nwaits for a CPU: ");
	CHECK_LACKS(tool->out, "waits for a CPU: 0,");
	CHECK_HAS(tool->out, "parts_burn");
	for (const char *line = tool->out; *line; line += strcspn(line, "\n") + 1)
		CHECK(strcspn(line, "\n") <= 80);
}

/* The service waits for a lock that another thread has until the test ends. */
TEST_UNLESS(reports_lack, a_report_names_who_has_a_lock)
{
	struct proc *work = work_start("stalls", "lock", "600000"), *tool;

	work_go(work);
	tool = tool_launch("tracelets", "report", "-p", pid_text(work->pid), "--interval", "1");
	CHECK(proc_wait_for(tool, "stalls:service_lock by holder ("));
	tool_stop(tool);
	proc_kill(work);
}

TEST(formats_have_kinds_and_threads)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
		struct proc *work = start_parts(), *tool;

		tool = trace_pid(work, "profile", "--wall", "--per-thread", "--format",
				 formats[i].format);
		for (const char *const *part = formats[i].parts; *part; part++)
			CHECK_HAS(tool->out, *part);
		CHECK_LACKS(tool->out, "\"period\"");
		if (!strcmp(formats[i].format, "json"))
			CHECK_EQ(lines_with(tool->out, ",\"tid\":"),
				 lines_with(tool->out, "\"frames\""));
	}
}

/* ---- in time ---- */

/* Returns the text after the first `what`; if there is none, fails and returns "". */
static const char *after(const char *text, const char *what)
{
	const char *at = strstr(text, what);

	if (!at)
		UNIT_FAIL("no %s in %s", what, text);
	return at ? at + strlen(what) : "";
}

static const char *column(const char *track, const char *table, const char *name)
{
	return after(after(track, text_of("\"%s\":{", table)), text_of("\"%s\":[", name));
}

/* Returns number i of a column; -1: null. */
static long cell(const char *numbers, long i)
{
	while (i-- > 0)
		numbers = after(numbers, ",");
	return *numbers == 'n' ? -1 : strtol(numbers, NULL, 10);
}

/* Returns string i of a list of names without commas. */
static const char *string_at(const char *list, long i)
{
	while (i-- > 0)
		list = after(list, ",");
	list = after(list, "\"");
	return text_of("%.*s", (int)strcspn(list, "\""), list);
}

/* Returns the workload's function in a stack; NULL: it has none. */
static const char *phase_of(const char *track, long stack)
{
	static const char *const phases[] = { "plan_nap", "plan_doze", "plan_spin" };
	const char *frames = column(track, "stackTable", "frame");
	const char *prefixes = column(track, "stackTable", "prefix");
	const char *functions = column(track, "frameTable", "func");
	const char *names = column(track, "funcTable", "name");
	const char *strings = after(track, "\"stringArray\":[");

	for (; stack >= 0; stack = cell(prefixes, stack)) {
		long function = cell(functions, cell(frames, stack));
		const char *name = string_at(strings, cell(names, function));

		for (size_t i = 0; i < 3; i++)
			if (!strcmp(name, phases[i]))
				return phases[i];
	}
	return NULL;
}

/* Returns the names of the phases of a track, each as long as it lasts once. */
static const char *phases_of(const char *track)
{
	const char *stacks = column(track, "samples", "stack"), *phases = "", *last = "";
	long n = strtol(after(track, "\"samples\":{\"length\":"), NULL, 10);

	for (long i = 0; i < n; i++) {
		const char *phase = phase_of(track, cell(stacks, i));

		if (!phase || !strcmp(phase, last))
			continue;
		phases = text_of("%s %s", phases, phase);
		last = phase;
	}
	return phases;
}

/* Computes, waits in two places, and computes: so does its track. */
TEST(a_track_shows_the_phases_in_their_order)
{
	struct proc *work = work_start("plan", "1", "2", "100", "300", "100", "phases");
	struct proc *tool = trace_pid(work, "profile", "--wall", "-U", "--format", "firefox");
	const char *track = strstr(tool->out, "{\"name\":\"phases\"");

	CHECK(track);
	CHECK_HAS(track,
		  text_of("\"pid\":\"%d\",\"tid\":%d,\"isMainThread\":true", work->pid, work->pid));
	CHECK_STR(phases_of(track), " plan_nap plan_doze plan_spin plan_nap plan_doze plan_spin");
	CHECK_HAS(track, "\"waits: blocked\"");
}

/* --only and --without match functions and states, as in formats without time. */
TEST(only_and_without_select_phases_of_a_track)
{
	static const char *const cases[][3] = {
		{ "--only", "^plan_spin$", " plan_spin" },
		{ "--only", "blocked", " plan_nap plan_doze plan_nap plan_doze" },
		{ "--without", "on cpu|runnable", " plan_nap plan_doze plan_nap plan_doze" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct proc *work = work_start("plan", "1", "2", "100", "300", "100", "phases");
		struct proc *tool = trace_pid(work, "profile", "--wall", "-U", cases[i][0],
					      cases[i][1], "--format", "firefox");
		const char *track = strstr(tool->out, "{\"name\":\"phases\"");

		CHECK_STR(track ? phases_of(track) : "none", cases[i][2]);
	}
}

/* A sample may meet a thread in the function in which it is about to wait. */
TEST(only_selects_the_time_on_cpu_of_a_track)
{
	struct proc *work = work_start("plan", "1", "2", "100", "300", "100", "phases");
	struct proc *tool = trace_pid(work, "profile", "--wall", "-U", "--only", "on cpu",
				      "--format", "firefox");
	const char *track = strstr(tool->out, "{\"name\":\"phases\"");

	CHECK(track);
	CHECK_HAS(phases_of(track), " plan_spin");
	CHECK_LACKS(track, "\"[blocked]\"");
	CHECK_LACKS(track, "\"[runnable]\"");
}

/* Returns the name of the wait after a track's first idle one; "": there is none. */
static const char *wait_after_idle(const char *track)
{
	const char *names = column(track, "markers", "name");
	const char *strings = after(track, "\"stringArray\":[");
	long n = strtol(after(track, "\"markers\":{\"length\":"), NULL, 10);

	for (long i = 0; i + 1 < n; i++)
		if (!strcmp(string_at(strings, cell(names, i)), "waits: idle"))
			return string_at(strings, cell(names, i + 1));
	return "";
}

/* A thread that was woken up waits for a CPU, as in formats without time. */
TEST(a_track_at_rest_is_idle_until_its_wake_up)
{
	struct proc *work = work_start("resting", "300");
	struct proc *tool =
		trace_pid(work, "profile", "--wall", "--no-idle", "--format", "firefox");
	const char *track = strstr(tool->out, "{\"name\":\"loop\"");

	CHECK(track);
	CHECK_STR(wait_after_idle(track), "waits: runnable");
}

/* One sample in a second stands for what was measured, not for a second. */
TEST(the_total_of_tracks_is_the_measured_time)
{
	static const char *const in_time[] = { "firefox", "heatmap" };

	for (size_t i = 0; i < ARRAY_SIZE(in_time); i++) {
		struct proc *work = work_start("plan", "1", "2", "100", "300", "100", "phases");
		struct proc *tool =
			trace_pid(work, "profile", "--wall", "-F", "1", "--format", in_time[i]);

		CHECK_CLOSE(truth_value(tool), truth_ms(tool) * 1000, tolerance());
	}
}
