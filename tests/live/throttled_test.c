// SPDX-License-Identifier: GPL-2.0-only
/*
 * Waits that a CPU quota causes, live. The measure is the kernel's own sum of the time for which a
 * cgroup was throttled, CPU by CPU: with one thread on each CPU, the waits of these threads.
 */
#include <sched.h>

#include "live.h"

#define LIMIT_PERCENT 10
#define TOLERANCE     50 /* per mille */
#define CPU_MS	      "307"
#define FEW_WAITS     at_size(5, 2) /* of about 30 periods; emulated, some take many */

static uint64_t throttled_ns(const struct proc *tool)
{
	return json_sum(tool->out, "throttled", "throttled_ns");
}

static uint64_t throttled_waits(const struct proc *tool)
{
	return json_sum(tool->out, "throttled", "throttled_waits");
}

#define AS_JSON "runqlat", "--throttled", "--format", "json"

/*
 * A workload in a cgroup that has a limit, or is below that. What the kernel had summed up before
 * the work, just before it was done, and once all were blocked.
 */
struct limited {
	struct proc *work;
	const char *cgroup; /* that has the limit */
	uint64_t before_ns, done_ns, blocked_ns;
};

static struct limited limit(struct proc *work, const char *cgroup, const char *below)
{
	struct limited limited = { .work = work, .cgroup = cgroup };

	CHECK(cgroup_add(below ? below : cgroup, work->pid));
	wait_until_blocked(work->pid);
	limited.before_ns = cgroup_throttled_ns(cgroup);
	return limited;
}

static struct limited limit_to(struct proc *work, int percent)
{
	return limit(work, cgroup_make_limited("limited", percent), NULL);
}

/* The last sum that was read before the work had said that it was done. */
static void do_limited(struct limited *limited)
{
	uint64_t now_ns = limited->before_ns;

	work_go(limited->work);
	do {
		limited->done_ns = now_ns;
		now_ns = cgroup_throttled_ns(limited->cgroup);
		proc_linger(limited->work, 5);
	} while (!limited->work->has_ended && !strstr(limited->work->out, "@done\n"));
	work_wait_done(limited->work);
	limited->blocked_ns = cgroup_throttled_ns(limited->cgroup);
}

static struct proc *trace_limited(struct limited *limited, const char *const argv[])
{
	struct proc *tool = tool_start_argv(argv_on(limited->work, argv));

	do_limited(limited);
	tool_stop(tool);
	return tool;
}

#define TRACE(limited, ...) trace_limited(limited, ARGV(__VA_ARGS__))

/*
 * The kernel's sum lacks a wait that has not ended. It has the time for which a group is throttled
 * after its last thread has gone to sleep, or, before 6.6, for which no thread waits on a CPU.
 */
static void check_throttled(uint64_t ns, const struct limited *limited)
{
	uint64_t low = limited->done_ns - limited->before_ns;
	uint64_t high = limited->blocked_ns - limited->before_ns;

	CHECK(high > 0);
	if (ns < low)
		CHECK_CLOSE(ns, low, TOLERANCE);
	if (ns > high)
		CHECK_CLOSE(ns, high, TOLERANCE);
}

static void check_waits(const struct proc *tool, const struct limited *limited)
{
	CHECK(throttled_waits(tool) >= (uint64_t)FEW_WAITS);
	CHECK_EQ(json_sum(tool->out, "throttled", "waits"), truth_value(tool));
	check_throttled(throttled_ns(tool), limited);
}

static void check_sum(struct limited *limited)
{
	struct proc *tool = TRACE(limited, AS_JSON);
	uint64_t waits_ns = json_sum(tool->out, "throttled", "throttled_waits_ns");

	check_waits(tool, limited);
	if (throttled_ns(tool) > waits_ns) /* these are rounded, each */
		CHECK_CLOSE(throttled_ns(tool), waits_ns, 1);
}

TEST_UNLESS(quotas_lack, throttled_time_is_what_the_kernel_says)
{
	struct limited limited = limit_to(work_start("spin", "-m", CPU_MS), LIMIT_PERCENT);

	check_sum(&limited);
}

TEST_UNLESS(quotas_lack, a_limit_holds_for_the_groups_below)
{
	const char *parent = cgroup_make_limited("limited", LIMIT_PERCENT);
	const char *child = cgroup_make_limited("limited/child", 0);
	struct limited limited = limit(work_start("spin", "-m", CPU_MS), parent, child);

	check_sum(&limited);
}

TEST_UNLESS(quotas_lack, throttled_time_of_threads_on_two_cpus_adds_up)
{
	struct limited limited =
		limit_to(work_start("spin", "-t", "2", "-m", CPU_MS), 2 * LIMIT_PERCENT);
	struct proc *tool;

	if (usable_cpus() < 2)
		SKIP("one CPU");
	tool = TRACE(&limited, AS_JSON);
	if (!file_read(text_of("%s/cpu.stat.local", limited.cgroup))) /* came with 6.6 */
		limited.done_ns = limited.before_ns;
	check_waits(tool, &limited);
}

/* Both want the same CPU, so both wait. */
TEST_UNLESS(quotas_lack, waits_beside_a_limited_group_are_not_throttled)
{
	const char *cpu = text_of("%d", usable_cpu(0));
	struct limited limited =
		limit_to(work_start("spin", "-c", cpu, "-m", CPU_MS), LIMIT_PERCENT);
	struct proc *other = work_start("spin", "-c", cpu, "-n", "other");
	struct proc *beside = tool_start_on(other, AS_JSON);

	work_go(other);
	check_waits(TRACE(&limited, AS_JSON), &limited);
	tool_stop(beside);
	CHECK(json_sum(beside->out, "throttled", "waits") >= (uint64_t)FEW_WAITS);
	CHECK_EQ(throttled_waits(beside), 0);
	CHECK_EQ(throttled_ns(beside), 0);
}

/* It is woken up on a CPU on which the group has nothing left, because another one spins there. */
TEST_UNLESS(quotas_lack, a_thread_that_wakes_up_in_a_throttled_group_is_throttled)
{
	const char *cgroup = cgroup_make_limited("limited", LIMIT_PERCENT);
	struct proc *spinner = work_start("spin", "-c", text_of("%d", usable_cpu(0)));
	struct proc *napper = work_start("plan", "1", "31", "7", "0"), *tool;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(usable_cpu(0), &set);
	CHECK(!sched_setaffinity(napper->pid, sizeof(set), &set));
	limit(spinner, cgroup, NULL);
	limit(napper, cgroup, NULL);
	tool = tool_start_on(napper, AS_JSON);
	work_go(spinner);
	work_do(napper);
	tool_stop(tool);
	CHECK(throttled_waits(tool) >= (uint64_t)FEW_WAITS);
	CHECK(throttled_ns(tool) > 0);
}

/* How many waits, how many of them throttled. */
TEST_UNLESS(quotas_lack, the_last_line_says_how_many_waits_were_throttled)
{
	struct limited limited = limit_to(work_start("spin", "-m", CPU_MS), LIMIT_PERCENT);
	struct proc *tool = TRACE(&limited, "runqlat", "--throttled", "-m");
	uint64_t held = hist_count_of(tool->out, "wait = throttled");
	uint64_t others = hist_count_of(tool->out, "wait = contended");

	CHECK(held >= (uint64_t)FEW_WAITS);
	CHECK_EQ(lines_from(tool->out,
			    text_of("of %llu waits %llu were throttled: p90 ",
				    (unsigned long long)(held + others), (unsigned long long)held)),
		 1);
	CHECK_EQ(lines_from(tool->out, "of the "), 1);
	CHECK_HAS(tool->out, " that throttled waits took, quotas caused ");
}

/* In one window or many; the part for which it isn't throttled is there, too. */
static void check_stacks(const char *cgroup, const char *tool_name, const char *option,
			 const char *interval)
{
	struct limited limited = limit(work_start("spin", "-m", CPU_MS), cgroup, NULL);
	struct proc *tool =
		TRACE(&limited, tool_name, option, "--throttled", "--interval", interval);

	check_throttled(folded_sum(tool->out, NULL, "[throttled]") * 1000, &limited);
	CHECK_CLOSE(truth_value(tool), folded_sum(tool->out, NULL, NULL), 5);
	if (!strcmp(option, "--wall"))
		CHECK_CLOSE(truth_value(tool), truth_ms(tool) * 1000, TOLERANCE);
	proc_kill(limited.work);
}

TEST_UNLESS(quotas_lack, offcputime_tells_what_a_quota_causes)
{
	const char *cgroup = cgroup_make_limited("limited", LIMIT_PERCENT);

	check_stacks(cgroup, "offcputime", "--runnable", "10s");
	check_stacks(cgroup, "offcputime", "-f", "10s");
	check_stacks(cgroup, "offcputime", "-f", "70ms");
}

TEST_UNLESS(quotas_lack, wall_time_tells_what_a_quota_causes)
{
	const char *cgroup = cgroup_make_limited("limited", LIMIT_PERCENT);

	check_stacks(cgroup, "profile", "--wall", "10s");
	check_stacks(cgroup, "profile", "--wall", "70ms");
}

TEST(without_a_limit_no_wait_is_throttled)
{
	const char *cpu = text_of("%d", usable_cpu(0));
	struct proc *rival = work_start("spin", "-c", cpu, "-n", "rival");
	struct proc *work = work_start("spin", "-c", cpu, "-i", "31"), *tool;

	work_go(rival);
	tool = trace_pid(work, "runqlat", "--throttled");
	CHECK(hist_count_of(tool->out, "wait = contended") >= 31 - 1);
	CHECK_EQ(lines_with(tool->out, "wait = throttled"), 0);
	CHECK_HAS(tool->out, " waits none was throttled: p90 ");
}

TEST_UNLESS(quotas_lack, throttled_time_in_intervals_adds_up)
{
	struct limited limited = limit_to(work_start("spin", "-m", CPU_MS), LIMIT_PERCENT);
	struct proc *tool = TRACE(&limited, AS_JSON, "--interval", "300ms");

	CHECK(lines_from(tool->out, "{\"type\":\"throttled\",") > 2);
	check_waits(tool, &limited);
}

TEST_UNLESS(quotas_lack, throttled_time_is_a_metric)
{
	struct limited limited = limit_to(work_start("spin", "-m", CPU_MS), LIMIT_PERCENT);
	struct proc *tool = TRACE(&limited, "runqlat", "--throttled", "--format", "prometheus");

	CHECK_HAS(tool->out, "tracelets_runqlat_wait_seconds_count{wait=\"throttled\"} ");
	CHECK_HAS(tool->out, "# TYPE tracelets_runqlat_throttled_seconds_total counter\n");
	CHECK_EQ(lines_from(tool->out, "tracelets_runqlat_throttled_seconds_total 0.0\n"), 0);
	CHECK_EQ(lines_from(tool->out, "tracelets_runqlat_throttled_seconds_total 0\n"), 0);
	CHECK_EQ(lines_from(tool->out, "tracelets_runqlat_throttled_seconds_total "), 1);
}

TEST(every_wait_is_in_one_of_the_histograms)
{
	struct proc *work = work_start("pingpong", "1009");
	uint64_t before = task_switches(work->pid, 0);
	struct proc *tool = trace_pid(work, "runqlat", "--throttled");

	CHECK_SWITCHES(hist_count_of(tool->out, NULL), task_switches(work->pid, 0) - before);
}
