// SPDX-License-Identifier: GPL-2.0-only
/*
 * syscount, live. The workload makes known numbers of calls; what it makes besides to start and to
 * talk to us is left alone.
 */
#include <ctype.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "live.h"

#define NAME_WIDTH 22

/* True if a line is "NAME  COUNT" with whatever behind it. */
static bool parse_row(const char *line, const char *name, uint64_t *count)
{
	size_t length = strlen(name);

	if (strlen(line) <= NAME_WIDTH || length > NAME_WIDTH || strncmp(line, name, length) ||
	    strspn(line + length, " ") < NAME_WIDTH - length)
		return false;
	line += strspn(line + NAME_WIDTH, " ") + NAME_WIDTH;
	*count = strtoull(line, NULL, 10);
	return isdigit((unsigned char)*line);
}

/* The counts of all rows of that name. */
static uint64_t count_of(const char *text, const char *name)
{
	char *copy = strdup(text), *rest = copy, *line;
	uint64_t sum = 0, count;

	while ((line = strsep(&rest, "\n")))
		if (parse_row(line, name, &count))
			sum += count;
	free(copy);
	return sum;
}

/* From the first line that begins so; an empty string if none does. */
static const char *row_from(const char *text, const char *start)
{
	const char *at =
		strncmp(text, start, strlen(start)) ? strstr(text, text_of("\n%s", start)) : text;

	return at ? at : "";
}

/* Returns the number of calls with that name and error. */
static uint64_t count_with_error(const char *text, const char *name, const char *error)
{
	const char *at = row_from(text, text_of("%-22s %-22s ", name, error));

	return *at ? strtoull(at + 2 * (NAME_WIDTH + 1), NULL, 10) : 0;
}

/* All are there, but for those that the tool says are missing. */
#define CHECK_CALLS(tool, counted, made)                                                     \
	do {                                                                                 \
		unsigned long long n = (counted), all = (made);                              \
		if (n > all || n + events_missed(tool) < all)                                \
			UNIT_FAIL("%s is %llu, not %llu (%s)", #counted, n, all, tool->err); \
	} while (0)

/* A workload of a kind, traced with one option more, or NULL. */
static struct proc *trace_kind(const char *kind, const char *n, const char *option)
{
	return trace_pid(work_start("calls", kind, n), "syscount", "-T", "99", option);
}

/* The same with its children, from the beginning. */
static struct proc *trace_children(const char *kind, const char *n, const char *option)
{
	return tool_run("syscount", "-T", "99", "--follow", option, "--", work_path("calls"), kind,
			n);
}

#if defined(__x86_64__)
#define COMPAT	   " (i386)"
#define PAUSE_CALL "pause"
#else
#define COMPAT	   " (arm)"
#define PAUSE_CALL "ppoll"
#endif

TEST(every_call_is_counted_once)
{
	struct proc *tool = trace_kind("plain", "1009", NULL);

	CHECK_CALLS(tool, count_of(tool->out, "getppid"), 1009);
	CHECK_EQ(tool->out[0], '[');
	CHECK_HAS(tool->out, "]\nSYSCALL                   COUNT\ngetppid  ");
	CHECK_LACKS(tool->err, "map full");
	CHECK(truth_value(tool) + events_missed(tool) >= 1009 + 2);
}

TEST(the_top_row_is_the_most_frequent_and_rows_are_limited)
{
	struct proc *work = work_start("calls", "plain", "1009");
	struct proc *tool = trace_pid(work, "syscount", "-T", "1");

	CHECK_CALLS(tool, count_of(tool->out, "getppid"), 1009);
	CHECK_EQ(lines_with(tool->out, ""), 4); /* time, header, one row, a blank one */
}

/* A program makes more than ten different calls before it does anything. */
TEST(json_has_all_rows_unless_some_are_asked_for)
{
	const char *row = "{\"type\":\"calls\",";
	struct proc *tool =
		tool_run("syscount", "--format", "json", "--", work_path("calls"), "plain", "1009");

	CHECK(lines_from(tool->out, row) > 10);
	tool = tool_run("syscount", "--format", "json", "-L", "--histogram",
			"--by-process-and-syscall", "--", work_path("calls"), "plain", "1009");
	CHECK(lines_from(tool->out, row) > 10);
	tool = tool_run("syscount", "--format", "json", "-T", "10", "--", work_path("calls"),
			"plain", "1009");
	CHECK_EQ(lines_from(tool->out, row), 10);
}

/* Checks "NAME[+NAME][/ERROR] COUNT, ...": sums of calls by name and error; "all": of all. */
static void check_counts(const struct proc *tool, const char *counts)
{
	unsigned long long wanted;
	char names[64];
	int length;

	for (; sscanf(counts, "%63s %llu%n", names, &wanted, &length) == 2; counts += length) {
		char *error = strchr(names, '/'), *rest = names, *name;
		uint64_t n = 0;

		if (error)
			*error++ = '\0';
		while ((name = strsep(&rest, "+")))
			n += !strcmp(name, "all") ? truth_value(tool)
			     : error		  ? count_with_error(tool->out, name, error)
						  : count_of(tool->out, name);
		if (n > wanted || n + events_missed(tool) < wanted)
			UNIT_FAIL("%llu instead of: %s (%s)", (unsigned long long)n, counts,
				  tool->err);
		length += counts[length] == ',';
	}
}

static const struct {
	const char *kind, *n, *option;
	bool with_children;
	const char *counts;
} kinds[] = {
	{ "plain", "1009", "-v", true, "getppid 1009, execve 1, exit_group 1" },
	/* the new task leaves the call as well */
	{ "children", "101", "-v", true, "clone 101, wait4 101, getppid 101, exit_group 102" },
	{ "children", "101", "-L", true, "clone 101, wait4 101, getppid 101, exit_group 102" },
	{ "sharing", "53", "-v", true, "vfork+clone 53, exit_group 54" },
	{ "threads", "47", "-v", false, "clone3+clone 47, exit 47" },
	{ "programs", "11", "-v", true, "execve 12, getppid 33, exit_group 12" },
	{ "signals", "31", "-v", false, "tgkill 31, rt_sigreturn 31" },
	{ "signals", "31", "-L", false, "rt_sigreturn 31" },
	/* a return's register holds the result of the interrupted pause() again: EINTR */
	{ "interrupted", "7", "-x", false,
	  PAUSE_CALL "/ERESTARTNOHAND 7, " PAUSE_CALL " 0, rt_sigreturn 0" },
	{ "interrupted", "7", "-Lx", false, "rt_sigreturn 0" },
	{ "interrupted", "7", "--errno=ERESTARTNOHAND", false, PAUSE_CALL " 7" },
	/* numbers without a name */
	{ "unknown", "29", "-v", false, "[600] 29, [100000] 29" },
	{ "unknown", "29", "-x", false, "[100000]/ENOSYS 29" },
	{ "failing", "303", "-x", false,
	  "close 202, openat 101, close/EBADF 202, openat/ENOENT 101, read 0, all 303" },
	{ "failing", "303", "--errno=EBADF", false, "close 202, all 202" },
	{ "failing", "303", "--errno=2", false, "openat 101, all 101" },
	{ "failing", "303", "--syscall=close", false, "close 202, all 202" },
};

TEST(calls_of_every_kind_are_counted_once)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		const char *kind = kinds[i].kind, *n = kinds[i].n, *option = kinds[i].option;
		struct proc *tool = kinds[i].with_children ? trace_children(kind, n, option)
							   : trace_kind(kind, n, option);

		check_counts(tool, kinds[i].counts);
		CHECK_LACKS(tool->err, "map full");
	}
}

/* On x86-64, since 6.11: a return probe makes a call, which restores registers as sigreturn. */
TEST_UNLESS(memleak_lacks, calls_of_return_probes_have_their_own_name)
{
	struct proc *work = work_start("calls", "blocks", "43");
	struct proc *leaks = tool_start_on(work, "memleak");
	struct proc *tool = trace_pid(work, "syscount", "-T", "99");

	CHECK_EQ(count_of(tool->out, "rt_sigreturn"), 0);
	if (count_of(tool->out, "uretprobe"))
		CHECK_CALLS(tool, count_of(tool->out, "uretprobe"), 43);
	tool_stop(leaks);
}

TEST(calls_of_32_bit_have_their_own_names)
{
	struct proc *work = work_start("calls", "compat", "37");
	struct proc *tool = trace_pid(work, "syscount", "-T", "99");

	if (!work_value(work->out, NULL, "compat"))
		SKIP("this kernel has no 32-bit calls");
	CHECK_CALLS(tool, count_of(tool->out, "getppid" COMPAT), 37);
	CHECK_CALLS(tool, count_of(tool->out, "close" COMPAT), 37);
	CHECK_CALLS(tool, count_of(tool->out, "getppid"), 37);
	CHECK_CALLS(tool, count_of(tool->out, "lstat"), 0); /* 6 for 64 bits */
	tool = trace_kind("compat", "37", "-x");
	CHECK_CALLS(tool, count_with_error(tool->out, "close" COMPAT, "EBADF"), 37);
	tool = trace_kind("compat", "37", "--syscall=getppid");
	CHECK_CALLS(tool, count_of(tool->out, "getppid"), 37);
	CHECK_CALLS(tool, count_of(tool->out, "getppid" COMPAT), 37);
	CHECK_CALLS(tool, truth_value(tool), 74);
}

/* It has just its beginning before the tracing. */
TEST(a_call_under_way_is_counted_when_it_returns)
{
	struct proc *work = work_start("calls", "plain", "3");
	struct proc *tool = trace_pid(work, "syscount", "-T", "99");

	CHECK_CALLS(tool, count_of(tool->out, "read"), 1);
	work = work_start("calls", "plain", "3");
	tool = trace_pid(work, "syscount", "-L", "-T", "99");
	CHECK_CALLS(tool, count_of(tool->out, "read"), 1);
	CHECK_HAS(tool->err, ": 1 call without a time:");
	CHECK_HAS(tool->err, ": calls still in flight: 1 (list them with --in-flight)\n");
}

TEST(calls_that_seccomp_refuses_are_counted_without_a_time)
{
	struct proc *tool = trace_kind("refused", "17", "-L");

	CHECK_CALLS(tool, count_of(tool->out, "uname"), 17);
	CHECK(lines_from(tool->out, "uname                        17         0.000      -") == 1 ||
	      events_missed(tool));
	CHECK_CALLS(tool, said_number(tool, " calls without a time: their entry was not seen"), 17);
	tool = trace_kind("plain", "17", "-L");
	CHECK_LACKS(tool->err, "not seen");
}

/* It has begun while the process was still the tool's; and exit_group() has no end. */
TEST(a_command_s_own_exec_has_begun_before_the_tracing)
{
	struct proc *tool =
		tool_run("syscount", "-L", "-T", "99", "--", work_path("calls"), "plain", "17");

	CHECK_CALLS(tool, count_of(tool->out, "execve"), 1);
	CHECK_LACKS(tool->err, "not seen");
	CHECK_CALLS(tool, said_number(tool, " calls without a time: they began before tracing"), 2);
}

/* At the first moment of the tracing and at the last, too. */
TEST(no_call_of_a_busy_process_has_a_beginning_that_is_not_seen)
{
	struct proc *one = work_start("calls", "plain", "1000000000");
	struct proc *other = work_start("calls", "plain", "1000000000"), *tool;
	const char *both = text_of("%d,%d", one->pid, other->pid);
	uint64_t n_calls = 0;

	work_go(one);
	work_go(other);
	for (int i = 0; i < at_size(15, 3); i++) {
		tool = tool_run("syscount", "-L", "-p", both, "-d", "20ms");
		n_calls += count_of(tool->out, "getppid");
		if (!events_missed(tool))
			CHECK_LACKS(tool->err, "not seen");
	}
	CHECK(n_calls > 0);
}

static double age_ms(const struct proc *tool, pid_t pid, int tid, char mark)
{
	const char *at = row_from(tool->out, text_of("%-7d %-7d ", pid, tid));
	double age = -1;

	at = strstr(at, mark == ' ' ? "read " : text_of("%c", mark));
	if (at)
		at += strspn(at, "read ~>");
	if (at && sscanf(at, "%lf", &age) != 1)
		age = -1;
	return age;
}

TEST(a_thread_that_hangs_is_listed_with_its_age)
{
	struct proc *work = work_start("calls", "hung", "1");
	struct proc *tool = trace_pid(work, "syscount", "--in-flight", "-m");

	CHECK_HAS(tool->out,
		  "PID     TID     COMM            IN FLIGHT                      AGE (ms)\n");
	CHECK_EQ(lines_with(tool->out, " hung            read "), 1);
	CHECK_HAS(tool->out, "\n        ksys_read\n"); /* -v */
	CHECK(age_ms(tool, work->pid, work->pid, ' ') >= 0);
	CHECK(age_ms(tool, work->pid, work->pid, ' ') < 60000);
}

/* It hung before anybody looked. */
TEST(a_thread_that_has_hung_for_long_is_listed_with_its_age)
{
	struct proc *work = work_start("calls", "hung", "1"), *tool;
	double age;

	usleep(700000);
	tool = tool_run_on(work, "syscount", "--in-flight", "-m", "-d", "100ms");
	CHECK_EQ(lines_with(tool->out, " calls           read "), 1);
	age = age_ms(tool, work->pid, work->pid, '~');
	CHECK(age >= 700);
	CHECK(age < 60000);
}

TEST(a_thread_that_hangs_is_a_line_of_json)
{
	struct proc *work = work_start("calls", "hung", "1"), *tool;
	const char *start =
		text_of("{\"type\":\"in_flight\",\"pid\":%d,\"tid\":%d,\"comm\":\"calls\","
			"\"syscall\":\"read\",\"age_ns\":",
			work->pid, work->pid);
	const char *line;
	unsigned long long age_ns = 0;

	usleep(700000);
	tool = tool_run_on(work, "syscount", "--in-flight", "-v", "--format", "json", "-d",
			   "100ms");
	CHECK_EQ(lines_from(tool->out, start), 1);
	line = strstr(tool->out, start);
	CHECK(line && sscanf(line + strlen(start), "%llu,\"age_is\":\"about\",", &age_ns) == 1);
	CHECK(age_ns >= 700000000);
	CHECK_HAS(tool->out, "{\"name\":\"ksys_read\",\"kind\":\"kernel\"}");
	CHECK_LACKS(tool->out, "IN FLIGHT");
}

/* Both wait in read(). */
TEST(calls_in_flight_that_are_not_listed_are_told)
{
	const struct proc *one = work_start("calls", "hung", "1");
	const struct proc *other = work_start("calls", "hung", "1");
	const char *both = text_of("%d,%d", one->pid, other->pid);
	struct proc *tool = tool_run("syscount", "--in-flight", "-T", "1", "-p", both, "-d", "1ms");

	CHECK_EQ(lines_with(tool->out, " calls           read "), 1);
	CHECK_HAS(tool->out, "1 of 2 calls in flight, the oldest (-T shows more)\n");
	tool = tool_run("syscount", "--in-flight", "-T", "1", "-p", both, "-d", "1ms", "--format",
			"json");
	CHECK_EQ(lines_from(tool->out, "{\"type\":\"in_flight\","), 1);
	CHECK_HAS(tool->err, "only the 1 oldest of 2 calls in flight are listed (-T lists more)\n");
}

TEST(a_thread_in_user_mode_is_in_no_call)
{
	struct proc *work = work_start("spin", "-e", "-t", "1"), *tool;

	work_go(work);
	tool = tool_run_on(work, "syscount", "--in-flight", "-d", "300ms");
	CHECK_EQ(lines_with(tool->out, " spin            [-"), 0);
	proc_kill(work);
}

/* Returns the time at *at, such as "5.1ms", and moves *at after it. */
static double take_ms(const char **at)
{
	static const char *const units[] = { "ns", "us", "ms", "s" };
	double value = 0, factor = 1e-6;
	char unit[8] = "";
	int length = 0;

	CHECK_EQ(sscanf(*at, " %lf%7[a-z]%n", &value, unit, &length), 2);
	*at += length;
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++, factor *= 1000)
		if (!strcmp(unit, units[i]))
			return value * factor;
	UNIT_FAIL("the unit '%s'", unit);
	return 0;
}

TEST(durations_have_total_and_percentiles)
{
	struct proc *work = work_start("calls", "naps", "23");
	struct proc *tool = trace_pid(work, "syscount", "-Lm");
	const char *at = row_from(tool->out, "clock_nanosleep ");
	double total = 0, min, avg, p50, p99, max;
	unsigned long long count = 0;
	int length = 0;

	CHECK_HAS(tool->out,
		  "SYSCALL                   COUNT     TIME (ms)    MIN    AVG    P50    "
		  "P99    MAX\nclock_nanosleep ");
	CHECK_EQ(sscanf(at, "%*s %llu %lf %n", &count, &total, &length), 2);
	at += length;
	min = take_ms(&at);
	avg = take_ms(&at);
	p50 = take_ms(&at);
	p99 = take_ms(&at);
	max = take_ms(&at);
	CHECK_CALLS(tool, count, 23);
	CHECK(total >= (double)count * 5);
	CHECK(min >= 5 && min <= p50 && p50 <= p99 && p99 <= max);
	CHECK(min <= avg && avg <= max);
	CHECK_CLOSE((uint64_t)(avg * (double)count * 1000), (uint64_t)(total * 1000), 10);
}

TEST(each_row_with_times_has_calls)
{
	struct proc *work = work_start("calls", "plain", "23");
	struct proc *tool = trace_pid(work, "syscount", "-L", "--syscall", "getppid");

	CHECK_LACKS(tool->out, "\nread ");
	tool = tool_run("syscount", "-L", "-T", "9999", "--format", "json", "--", "true");
	CHECK_HAS(tool->out, "\"type\":\"calls\"");
	CHECK_LACKS(tool->out, "\"count\":0,");
	tool = tool_run("syscount", "-LP", "-T", "9999", "--format", "json", "--", "true");
	CHECK_HAS(tool->out, "\"type\":\"calls\"");
	CHECK_LACKS(tool->out, "\"pid\":0,");
	tool = tool_run("syscount", "-LP", "--format", "prometheus", "--", "true");
	CHECK_HAS(tool->out, "pid=\"");
	CHECK_LACKS(tool->out, "pid=\"0\"");
}

/* Renames itself to what is traced and away, at rest in between; tells what that took. */
static bool rename_to_and_fro(void *arg)
{
	uint64_t *took_ns = arg, start_ns;

	for (int i = 0; i < 6; i++) {
		start_ns = clock_now_ns();
		prctl(PR_SET_NAME, i % 2 ? "else" : "traced");
		*took_ns += clock_now_ns() - start_ns;
		usleep(100000);
	}
	return false;
}

TEST(a_call_takes_no_time_from_one_that_was_not_traced_to_its_end)
{
	uint64_t *took_ns = mmap(NULL, sizeof(*took_ns), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct proc *tool = tool_start("syscount", "-L", "--comm", "traced", "--syscall", "prctl",
				       "--format", "json");
	const char *total;
	pid_t pid = fork();

	if (!pid)
		_exit(rename_to_and_fro(took_ns));
	waitpid(pid, NULL, 0);
	tool_stop(tool);
	total = strstr(tool->out, "\"total_ns\":");
	CHECK(total && strtoull(total + strlen("\"total_ns\":"), NULL, 10) <= *took_ns);
	munmap(took_ns, sizeof(*took_ns));
}

TEST(a_histogram_per_row_has_all_its_calls)
{
	struct proc *tool = trace_kind("naps", "23", "--histogram");

	CHECK_HAS(
		tool->out,
		"\nsyscall = clock_nanosleep\n     usecs               : count    distribution\n");
	CHECK_CALLS(tool, hist_count_of(tool->out, "syscall = clock_nanosleep"), 23);
	CHECK_EQ(hist_rows_of(tool->out, "syscall = clock_nanosleep"),
		 hist_count_of(tool->out, "syscall = clock_nanosleep"));
	tool = trace_kind("naps", "23", "-L");
	CHECK_LACKS(tool->out, "distribution");
}

TEST(processes_are_counted_and_named)
{
	struct proc *work = work_start("calls", "plain", "1009");
	struct proc *tool = trace_pid(work, "syscount", "-P");

	CHECK_HAS(tool->out, "PID    COMM               COUNT\n");
	CHECK_EQ(lines_from(tool->out, text_of("%-6d calls ", work->pid)), 1);
	CHECK_CALLS(tool, count_of(tool->out, text_of("%-6d calls", work->pid)), truth_value(tool));
}

TEST(a_name_that_holds_a_newline_is_whole)
{
	struct proc *tool;
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_NAME, "two\nlines");
		while (true)
			usleep(1000);
	}
	tool = tool_run("syscount", "-P", "-p", pid_text(pid), "-d", "300ms");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	CHECK_HAS(tool->out, text_of("\n%-6d two\\x0alines ", pid));
}

/* They are gone when the table is printed, and their names changed on the way. */
TEST(processes_that_are_gone_have_their_last_name)
{
	struct proc *tool = tool_run("syscount", "-P", "-T", "999", "--follow", "--",
				     work_path("calls"), "children", "41");

	CHECK_EQ(lines_with(tool->out, " calls-child "), 41);
	CHECK_EQ(lines_with(tool->out, " calls "), 1);
	tool = tool_run("syscount", "-L", "--by-process-and-syscall", "-T", "999", "--follow",
			"--syscall", "getppid", "--", work_path("calls"), "children", "41");
	CHECK_CALLS(tool,
		    lines_with(tool->out, " calls-child     getppid                       1 "), 41);
	CHECK_CALLS(tool, truth_value(tool), 41);
}

/* The sum of the last column in rows of a process name. */
static unsigned long long calls_of(const char *text, const char *comm)
{
	unsigned long long sum = 0;
	const char *end;

	for (; (end = strchr(text, '\n')); text = end + 1) {
		const char *at = memmem(text, (size_t)(end - text), comm, strlen(comm));

		if (at)
			sum += strtoull(memrchr(at, ' ', (size_t)(end - at)), NULL, 10);
	}
	return sum;
}

/* The usual limit is 16384 names. Processes that had the same pid share a row. */
TEST(there_are_as_many_names_as_rows)
{
	int n_children = at_size(20000, 100);
	struct proc *tool = tool_run("syscount", "-P", "-T", "99999", "--follow", "--entries",
				     "65536", "--syscall", "exit_group", "--", work_path("calls"),
				     "sharing", text_of("%d", n_children));

	CHECK_CALLS(tool, calls_of(tool->out, " calls "), n_children + 1);
	CHECK(lines_with(tool->out, " calls ") > (size_t)at_size(16384, 90));
	CHECK_LACKS(tool->out, "[unknown]");
}

/* The kernel gives the pid of a process that has exited to another one. */
static void check_taken_over(const char *option, bool is_killed)
{
	struct proc *first = work_start("calls", "plain", "41"),
		    *second = work_start("calls", "plain", "43");
	struct proc *tool = tool_start("syscount", option, "-T", "99", "-p",
				       text_of("%d,%d", first->pid, second->pid));
	pid_t stranger;

	work_do(first);
	if (is_killed) {
		proc_kill(first);
	} else {
		close(first->in_fd);
		first->in_fd = -1;
		CHECK_EQ(proc_finish(first), 0);
	}
	stranger = fork_as(first->pid);
	if (stranger < 0)
		SKIP("can't choose a pid");
	if (!stranger) {
		prctl(PR_SET_NAME, "stranger");
		raise(SIGSTOP);
	}
	CHECK_EQ(waitpid(stranger, NULL, WUNTRACED), stranger);
	work_do(second);
	tool_stop(tool);
	kill(stranger, SIGKILL);
	waitpid(stranger, NULL, 0);
	CHECK(lines_with(tool->out, " calls ") >= 2);
	CHECK_LACKS(tool->out, "stranger");
}

TEST(a_process_that_took_over_a_pid_gives_no_name)
{
	check_taken_over("-P", true);
	check_taken_over("-P", false);
	check_taken_over("--by-process-and-syscall", false);
}

TEST(processes_and_calls_are_counted_together)
{
	struct proc *work = work_start("calls", "plain", "1009");
	struct proc *tool = trace_pid(work, "syscount", "--by-process-and-syscall");

	CHECK_HAS(tool->out, "PID    COMM            SYSCALL                   COUNT\n");
	CHECK_CALLS(tool, sum_from(tool->out, text_of("%-6d calls           getppid ", work->pid)),
		    1009);
}

TEST(children_of_a_process_can_be_chosen)
{
	struct proc *work = work_start("calls", "children", "19");
	struct proc *tool =
		trace_work(work, ARGV("syscount", "-T", "99", "-c", pid_text(work->pid)));

	CHECK_CALLS(tool, count_of(tool->out, "getppid"), 19);
	CHECK_CALLS(tool, count_of(tool->out, "exit_group"), 19);
	CHECK_CALLS(tool, count_of(tool->out, "wait4"), 0);
	CHECK_CALLS(tool, count_of(tool->out, "clone"), 0);
}

TEST(one_thread_can_be_chosen)
{
	struct proc *work = work_start("plan", "3", "37", "1", "0");
	struct proc *tool =
		trace_work(work, ARGV("syscount", "-T", "99", "-t", pid_text(work->pid)));

	CHECK_CALLS(tool, count_of(tool->out, "clock_nanosleep"), 37);
}

/* Their state must have been freed: 12,000 are more than a table of the usual size holds. */
TEST(a_thread_is_seen_after_12000_others_came_and_went)
{
	struct proc *work = work_start("crowd", "12000", "101");
	struct proc *tool = trace_pid(work, "syscount", "-L", "--in-flight", "-T", "99");
	const char *at = row_from(tool->out, "clock_nanosleep ");
	unsigned long long count = 0;
	double total = 0;

	CHECK_CALLS(tool, count_of(tool->out, "exit"), 12000);
	CHECK_EQ(sscanf(at, "%*s %llu %lf", &count, &total), 2);
	CHECK_CALLS(tool, count, 101);
	CHECK(total >= 50500); /* its state may have been made late */
	CHECK_EQ(lines_with(tool->out, " late            read "), 1);
	CHECK_LACKS(tool->err, "map full");
	CHECK_LACKS(tool->err, "not traced");
	/* Exits, the first read, and calls whose beginning was left out have no time. */
	CHECK(said_number(tool, " calls without a time: they began") >= 12000 + 1);
	CHECK(said_number(tool, " calls without a time: they began") <=
	      12000 + 1 + 101 + events_missed(tool));
}

static void check_intervals(const char *option)
{
	struct proc *work = work_start("calls", "plain", "200003");
	struct proc *tool =
		trace_pid(work, "syscount", "--interval", "1ms", "--syscall", "getppid", option);

	CHECK(lines_with(tool->out, "COUNT") > 1);
	CHECK_CALLS(tool, truth_value(tool), 200003);
	CHECK_LACKS(tool->err, "map full");
}

TEST(intervals_add_up_without_loss)
{
	check_intervals(NULL);
	check_intervals("-L");
	check_intervals("-P");
}

TEST(names_are_listed)
{
	struct proc *tool = tool_run("syscount", "-l");

	CHECK_HAS(tool->out, "openat ");
	CHECK_HAS(tool->out, "io_uring_setup ");
	CHECK_HAS(tool->out, "file_setattr ");
	CHECK_LACKS(tool->out, "syscalls"); /* __NR_syscalls is a number of numbers */
}

TEST(a_full_table_is_told_with_its_share)
{
	struct proc *tool = tool_run("syscount", "-P", "--entries", "64", "--follow", "--",
				     work_path("calls"), "children", "200");

	CHECK_HAS(tool->err, " % of calls lost: map full\n");
	CHECK_HAS(tool->err, "hint: raise --entries\n");
	tool = tool_run("syscount", "-L", "-P", "--entries", "64", "--follow", "--",
			work_path("calls"), "children", "200");
	CHECK_HAS(tool->err, " % of calls lost: map full\n");
}
