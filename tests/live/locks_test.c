// SPDX-License-Identifier: GPL-2.0-only
/*
 * locks, live: of locks that a program knows, how often somebody waited for each, who
 * let them go, and what they are called. Counts are exact.
 */
#include <pthread.h>

#include "live.h"

static int rounds(void)
{
	return at_size(29, 7);
}

static struct proc *start_locks(const char *file)
{
	return work_start("contend", text_of("%d", rounds()), file);
}

static const char *make_file(void)
{
	return text_of("%s/shared", folder_make());
}

/* The children, too. */
static struct proc *trace_locks(struct proc *work, const char *format)
{
	return trace_pid(work, "locks", "--waker", "--follow", "--format", format);
}

static const char *lock_line(const struct proc *tool, const char *part)
{
	return first_line(tool->out, "{\"type\":\"lock\",", part);
}

/* Each waited for that often, let go by that thread each time. */
static void check_lock(const char *line, const char *kind, uint64_t waits, const char *waker)
{
	const char *wakers = strstr(line, "\"wakers\":[");

	CHECK_HAS(line, text_of("\"kind\":\"%s\"", kind));
	CHECK_EQ(number_in(line, "waits"), waits);
	CHECK_EQ(number_in(line, "waiting"), 0);
	CHECK(number_in(line, "longest_ns") <= number_in(line, "total_ns"));
	CHECK(number_in(line, "longest_ns") > 0);
	if (!waker) {
		CHECK(wakers && !strncmp(wakers, "\"wakers\":[]", 11));
		return;
	}
	CHECK_EQ(number_in(line, "given_up"), 0);
	CHECK(wakers && strstr(wakers, text_of("\"comm\":\"%s\"", waker)));
}

/* In one run of many, a wait or two ends another way. */
static void check_given_up(uint64_t n, uint64_t n_waits)
{
	if (n + 2 < n_waits || n > n_waits)
		UNIT_FAIL("%llu of %llu waits were given up", (unsigned long long)n,
			  (unsigned long long)n_waits);
}

/* Nobody releases it: the waits, which the workload counts, end otherwise. */
static const char *check_unreleased(const struct proc *tool, const struct proc *work,
				    const char *name, const char *kind, const char *value)
{
	const char *line = lock_line(tool, text_of("\"name\":\"contend:%s\"", name));
	uint64_t n_waits = work_value(work->out, NULL, value);

	check_lock(line, kind, n_waits, NULL);
	check_given_up(number_in(line, "given_up"), n_waits);
	return line;
}

static void check_stack(const char *line, const char *function)
{
	CHECK_HAS(strstr(line, "\"wakers\":[") ? strstr(line, "\"wakers\":[") : "",
		  text_of("\"%s\"", function));
}

static void check_programs_locks(const struct proc *tool, const struct proc *work, const char *file)
{
	uint64_t n = (uint64_t)rounds();
	const char *line = lock_line(tool, "\"name\":\"contend:static_lock\"");

	check_lock(line, "mutex", n, "holder");
	check_stack(line, "holder_hold");
	CHECK_EQ(number_in(line, "pid"), (uint64_t)work->pid);
	check_lock(lock_line(tool, "\"name\":\"contend:pi_lock\""), "pi-mutex", n, "holder");
	line = lock_line(tool, text_of("\"address\":%llu,", (unsigned long long)work_value(
								    work->out, NULL, "heap_lock")));
	check_lock(line, "mutex", n, "holder");
	CHECK_HAS(line, "\"mapping\":\"[heap]\"");
	line = lock_line(tool, "\"name\":\"contend:static_condition\"");
	check_lock(line, "condition", n, "holder");
	check_stack(line, "holder_signal");
	line = lock_line(tool, "\"name\":\"contend:requeued_word\"");
	check_lock(line, "futex", n, "holder");
	check_stack(line, "holder_requeue");
	line = lock_line(tool, text_of("\"mapping\":\"%s\"", file));
	check_lock(line, "mutex", 2 * n, "holder");
	CHECK_EQ(number_in(line, "offset"), 4096 + 64);
	check_unreleased(tool, work, "signalled_word", "futex", "signalled_waits");
	line = check_unreleased(tool, work, "app::timed_lock", "mutex", "timed_waits");
	CHECK_HAS(line, "\"symbol\":\"_ZN3appL10timed_lockE\"");
}

static bool sees_kernel(const struct proc *tool)
{
	return !strstr(tool->err, "kernel locks: not shown");
}

TEST(locks_of_programs_are_counted_one_by_one)
{
	const char *file = make_file();
	struct proc *work = start_locks(file), *tool = trace_locks(work, "json");

	check_programs_locks(tool, work, file);
}

/* exit_group() wakes up all other threads of the process, and releases nothing. */
TEST(who_ends_the_process_has_released_no_lock)
{
	struct proc *tool =
		tool_run("locks", "--format", "json", "--", work_path("contend"), "1", "leave");
	const char *line = lock_line(tool, "\"name\":\"contend:static_lock\"");

	check_lock(line, "mutex", 1, NULL);
	CHECK_EQ(number_in(line, "given_up"), 1);
}

/* Waits by a lock's kind that only such a write can have. */
static const char *kernel_line(const struct proc *tool, const char *kind, const char *part)
{
	const char *key = text_of("\"space\":\"kernel\",\"kind\":\"%s\"", kind), *line;

	for (const char *rest = tool->out; (line = line_with(&rest, key, part));)
		if (number_in(line, "waits") == (uint64_t)rounds())
			return line;
	return "";
}

TEST(locks_of_the_kernel_are_counted_one_by_one)
{
	struct proc *work = start_locks(make_file()), *tool = trace_locks(work, "json");
	const char *line;

	if (!sees_kernel(tool)) {
		CHECK_HAS(tool->err, "kernel locks: not shown: Linux ");
		CHECK(!strstr(tool->out, "\"space\":\"kernel\""));
		SKIP("this kernel has no contention tracepoints");
	}
	if (!work_value(work->out, NULL, "kernel"))
		SKIP("this kernel has no userfaultfd, with which the workload holds its locks");
	line = kernel_line(tool, "rwsem", "\"comm\":\"waiter\"");
	check_lock(line, "rwsem", (uint64_t)rounds(), "keeper");
	line = kernel_line(tool, "mutex", "pipe_write\",");
	check_lock(line, "mutex", (uint64_t)rounds(), "keeper");
	check_stack(line, "write_missing");
}

TEST(a_table_is_for_people)
{
	struct proc *work = start_locks(make_file()), *tool = trace_locks(work, "text");
	const char *line = first_line(tool->out, " contend:static_lock ", "");
	unsigned long long waits, total, longest;
	int n_given_up = 0;
	char kind[32], waker[32];

	CHECK(!strncmp(tool->out, "   WAITS   TOTAL_US LONGEST_US KIND       RELEASED_BY", 50));
	CHECK(sscanf(line, "%llu %llu %llu %31s %31s 100%%", &waits, &total, &longest, kind,
		     waker) == 5);
	CHECK_EQ(waits, (unsigned long long)rounds());
	CHECK(longest <= total && longest > 0);
	CHECK_STR(kind, "mutex");
	CHECK_STR(waker, "holder");
	CHECK_HAS(line, text_of("(%d)", work->pid));
	CHECK_HAS(tool->out, text_of("released %d times, after ", rounds()));
	CHECK_HAS(tool->out, "            holder_hold\n");
	line = strstr(first_line(tool->out, " contend:app::timed_lock ", ""), " [");
	CHECK(line && sscanf(line, " [%d given up]", &n_given_up) == 1);
	check_given_up((uint64_t)n_given_up, work_value(work->out, NULL, "timed_waits"));
}

/* With the locks of the tracing itself, whose contention must not be counted from within. */
TEST(the_whole_system_has_locks)
{
	struct proc *other = work_start("contend", "100000", make_file());
	struct proc *work = start_locks(make_file());
	struct proc *tool = tool_start("locks", "--waker", "--format", "json");
	const char *line;

	work_go(other);
	work_do(work);
	tool_stop(tool);
	line = first_line(tool->out, "\"name\":\"contend:static_lock\"",
			  text_of("\"pid\":%d,", work->pid));
	check_lock(line, "mutex", (uint64_t)rounds(), "holder");
	CHECK_STR(first_line(tool->out, "{\"type\":\"stack\",", text_of("\"pid\":%d,", tool->pid)),
		  "");
}

TEST(folded_stacks_have_the_lock_at_the_root)
{
	struct proc *work = start_locks(make_file()), *tool = trace_locks(work, "folded");
	const char *line = folded_find(tool->out, "waiter", "[mutex contend:static_lock]");

	CHECK(folded_is_sane(tool->out));
	CHECK(strstr(line, "waiter;[mutex contend:static_lock];") == line);
	CHECK_HAS(line, ";waiter_lock;");
	CHECK_HAS(line, ";--;");
	CHECK_HAS(line, ";holder_hold;");
	CHECK(folded_sum(tool->out, "waiter", "[condition contend:static_condition]") > 0);
	CHECK(folded_sum(tool->out, "waiter", "[mutex contend:app::timed_lock]") > 0);
	CHECK_CLOSE(truth_value(tool), folded_sum(tool->out, NULL, NULL), 5);
}

TEST(names_of_locks_can_stay_as_the_linker_has_them)
{
	struct proc *work = start_locks(make_file());
	struct proc *tool = trace_pid(work, "locks", "-f", "--no-demangle", "--comm", "waiter");

	CHECK(folded_sum(tool->out, "waiter", "[mutex contend:_ZN3appL10timed_lockE]") > 0);
	CHECK_LACKS(tool->out, "app::");
}

TEST(each_interval_has_its_own_counts)
{
	struct proc *work = start_locks(make_file());
	struct proc *tool = trace_pid(work, "locks", "--interval", "10ms", "--format", "json");
	const char *lock = "\"kind\":\"mutex\",\"name\":\"contend:static_lock\"", *line;
	uint64_t waits = 0;

	CHECK(lines_with(tool->out, "\"type\":\"run\"") > 1);
	for (const char *rest = tool->out; (line = line_with(&rest, lock, ""));)
		waits += number_in(line, "waits") - number_in(line, "waiting"); /* go on */
	CHECK_EQ(waits, (uint64_t)rounds());
}

TEST(offcputime_hands_its_option_on)
{
	struct proc *work = start_locks(make_file());
	struct proc *tool =
		trace_pid(work, "offcputime", "--locks", "--follow", "--format", "json");

	check_lock(lock_line(tool, "\"name\":\"contend:static_lock\""), "mutex", (uint64_t)rounds(),
		   "holder");
	CHECK_HAS(tool->err, "offcputime: --locks: runs the tool locks\n");
	CHECK_HAS(tool->err, "\nlocks: ");
}

/* There is room for one lock. */
TEST(a_full_table_is_told_with_its_share)
{
	struct proc *tool =
		trace_pid(start_locks(make_file()), "locks", "--stack-storage-size", "1");
	double percent = said_percent(tool, " % of microseconds lost: map full\n");

	CHECK_HAS(tool->err, "hint: raise --stack-storage-size\n");
	CHECK(percent > 0 && percent < 100);
}

static const char *owner_line(const struct proc *tool, const struct proc *work, int thread)
{
	const char *comm = text_of("waits%d", thread);

	return first_line(tool->out, "{\"type\":\"lock_owner\",",
			  text_of("\"tid\":%llu,\"comm\":\"%s\",",
				  (unsigned long long)work_value(work->out, comm, "tid"), comm));
}

/* Each thread has its own mutex and waits for the next one's; one more waits for the first. */
static void check_deadlock(int n_threads)
{
	struct proc *work = work_start("deadlock", text_of("%d", n_threads));
	struct proc *tool = trace_pid(work, "locks", "--format", "json");

	for (int i = 0; i < n_threads; i++) {
		const char *line = owner_line(tool, work, i);

		CHECK_HAS(line, "\"state\":\"deadlock\"");
		CHECK_HAS(line, "\"take_two\",\"wait_forever\",");
		CHECK_HAS(line, i ? text_of("\"name\":\"deadlock:mutexes+0x%zx\"",
					    sizeof(pthread_mutex_t) * (size_t)i)
				  : "\"name\":\"deadlock:mutexes\"");
	}
	CHECK_EQ(lines_with(tool->out, "\"type\":\"lock_owner\""), n_threads);
}

/* A deadlock of one thread: it locks its own mutex again. */
TEST(deadlocks_of_any_number_of_threads_are_named)
{
	for (int n_threads = 1; n_threads <= 3; n_threads++)
		check_deadlock(n_threads);
}

TEST(who_has_a_lock_without_a_deadlock_is_named)
{
	struct proc *work = work_start("deadlock", "2", "free");
	struct proc *tool = trace_pid(work, "locks");
	const char *second = text_of("deadlock:mutexes+0x%zx", sizeof(pthread_mutex_t));

	CHECK_HAS(tool->out,
		  text_of("held now: %s by waits1 (%llu)\n", second,
			  (unsigned long long)work_value(work->out, "waits1", "tid")),
		  text_of("held now: deadlock:mutexes by waits0 (%llu), which waits for %s\n",
			  (unsigned long long)work_value(work->out, "waits0", "tid"), second),
		  "            wait_forever\n");
	CHECK_LACKS(tool->out, "[deadlock]");
}
