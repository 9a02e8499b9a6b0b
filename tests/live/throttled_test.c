// SPDX-License-Identifier: GPL-2.0-only
/*
 * Waits that a CPU quota causes, live. The measure is the kernel's own sum of the time for which a
 * cgroup was throttled, CPU by CPU: with one thread on each CPU, the waits of these threads.
 */
#include <sched.h>
#include <stdlib.h>

#include "live.h"

#define LIMIT_PERCENT 10
#define TOLERANCE     50 /* per mille */
#define CPU_MS	      "307"
#define FEW_WAITS     at_size(5, 2) /* of about 30 periods; emulated, some take many */

#define SKIP_WITHOUT(cgroup) \
	if (!(cgroup))       \
	SKIP("no cgroup file system with the CPU controller")

/* The sum of that member of the lines of one type. */
static uint64_t json_sum(const char *text, const char *type, const char *key)
{
	const char *start = text_of("{\"type\":\"%s\",", type), *member = text_of("\"%s\":", key);
	const char *at, *end;
	uint64_t sum = 0;

	for (; *text; text = *end ? end + 1 : end) {
		end = text + strcspn(text, "\n");
		at = strncmp(text, start, strlen(start)) ? NULL : strstr(text, member);
		if (at && at < end)
			sum += strtoull(at + strlen(member), NULL, 10);
	}
	return sum;
}

static uint64_t throttled_ns(const struct proc *tool)
{
	return json_sum(tool->out, "throttled", "throttled_ns");
}

static uint64_t throttled_waits(const struct proc *tool)
{
	return json_sum(tool->out, "throttled", "throttled_waits");
}

static struct proc *start_tool(const struct proc *work)
{
	return tool_start("runqlat", "--throttled", "--format", "json", "-p", pid_text(work->pid));
}

/* What the kernel had summed up before the work, when it was done, and once all were blocked. */
struct sums {
	uint64_t before_ns, done_ns, blocked_ns;
};

/*
 * The kernel's sum lacks a wait that has not ended. It has the time for which a group is throttled
 * after its last thread has gone to sleep, or, before 6.6, for which no thread waits on a CPU.
 */
static void check_throttled(const struct proc *tool, uint64_t ns, const struct sums *sums)
{
	uint64_t low = sums->done_ns - sums->before_ns, high = sums->blocked_ns - sums->before_ns;

	CHECK_STATUS(tool, 0);
	CHECK(high > 0);
	if (ns < low)
		CHECK_CLOSE(ns, low, TOLERANCE);
	if (ns > high)
		CHECK_CLOSE(ns, high, TOLERANCE);
}

static void do_limited(struct proc *work, const char *limited, struct sums *sums)
{
	work_go(work);
	proc_wait_for(work, "@done");
	sums->done_ns = cgroup_throttled_ns(limited);
	work_wait_done(work);
	sums->blocked_ns = cgroup_throttled_ns(limited);
}

/* In a cgroup of which the limited one is this one or above it. */
static struct proc *trace_limited(struct proc *work, const char *cgroup, const char *limited,
				  struct sums *sums)
{
	struct proc *tool;

	CHECK(cgroup_add(cgroup, work->pid));
	wait_until_blocked(work->pid);
	sums->before_ns = cgroup_throttled_ns(limited);
	tool = start_tool(work);
	do_limited(work, limited, sums);
	tool_stop(tool);
	CHECK(throttled_waits(tool) >= (uint64_t)FEW_WAITS);
	CHECK_EQ(json_sum(tool->out, "throttled", "waits"), truth_value(tool));
	return tool;
}

static void check_sum(struct proc *work, const char *cgroup, const char *limited)
{
	struct sums sums;
	struct proc *tool = trace_limited(work, cgroup, limited, &sums);
	uint64_t waits_ns = json_sum(tool->out, "throttled", "throttled_waits_ns");

	check_throttled(tool, throttled_ns(tool), &sums);
	if (throttled_ns(tool) > waits_ns) /* these are rounded, each */
		CHECK_CLOSE(throttled_ns(tool), waits_ns, 1);
}

TIMED_TEST(throttled_time_is_what_the_kernel_says)
{
	const char *cgroup = cgroup_make_limited("limited", LIMIT_PERCENT);

	SKIP_WITHOUT(cgroup);
	check_sum(work_start("spin", "-m", CPU_MS), cgroup, cgroup);
}

TIMED_TEST(a_limit_holds_for_the_groups_below)
{
	const char *parent = cgroup_make_limited("limited", LIMIT_PERCENT);
	const char *child = parent ? cgroup_make_limited("limited/child", 0) : NULL;

	SKIP_WITHOUT(child);
	check_sum(work_start("spin", "-m", CPU_MS), child, parent);
}

TIMED_TEST(throttled_time_of_threads_on_two_cpus_adds_up)
{
	const char *cgroup = cgroup_make_limited("limited", 2 * LIMIT_PERCENT);
	struct proc *tool;
	struct sums sums;

	SKIP_WITHOUT(cgroup);
	if (usable_cpus() < 2)
		SKIP("one CPU");
	tool = trace_limited(work_start("spin", "-t", "2", "-m", CPU_MS), cgroup, cgroup, &sums);
	if (!file_read(text_of("%s/cpu.stat.local", cgroup))) /* came with 6.6 */
		sums.done_ns = sums.before_ns;
	check_throttled(tool, throttled_ns(tool), &sums);
}

/* Both want the same CPU, so both wait. */
TIMED_TEST(waits_beside_a_limited_group_are_not_throttled)
{
	const char *cgroup = cgroup_make_limited("limited", LIMIT_PERCENT);
	const char *cpu = text_of("%d", usable_cpu(0));
	struct proc *limited, *other, *tool, *beside;
	struct sums sums;

	SKIP_WITHOUT(cgroup);
	limited = work_start("spin", "-c", cpu, "-m", CPU_MS);
	other = work_start("spin", "-c", cpu, "-n", "other");
	CHECK(cgroup_add(cgroup, limited->pid));
	wait_until_blocked(limited->pid);
	sums.before_ns = cgroup_throttled_ns(cgroup);
	tool = start_tool(limited);
	beside = start_tool(other);
	work_go(other);
	do_limited(limited, cgroup, &sums);
	tool_stop(tool);
	tool_stop(beside);
	check_throttled(tool, throttled_ns(tool), &sums);
	CHECK_STATUS(beside, 0);
	CHECK(json_sum(beside->out, "throttled", "waits") >= (uint64_t)FEW_WAITS);
	CHECK_EQ(throttled_waits(beside), 0);
	CHECK_EQ(throttled_ns(beside), 0);
}

/* It is woken up on a CPU on which the group has nothing left, because another one spins there. */
TEST(a_thread_that_wakes_up_in_a_throttled_group_is_throttled)
{
	const char *cgroup = cgroup_make_limited("limited", LIMIT_PERCENT);
	struct proc *spinner, *napper, *tool;
	cpu_set_t set;

	SKIP_WITHOUT(cgroup);
	CPU_ZERO(&set);
	CPU_SET(usable_cpu(0), &set);
	spinner = work_start("spin", "-c", text_of("%d", usable_cpu(0)));
	napper = work_start("plan", "1", "31", "7", "0");
	CHECK(!sched_setaffinity(napper->pid, sizeof(set), &set));
	CHECK(cgroup_add(cgroup, spinner->pid) && cgroup_add(cgroup, napper->pid));
	wait_until_blocked(napper->pid);
	tool = start_tool(napper);
	work_go(spinner);
	work_do(napper);
	tool_stop(tool);
	CHECK_STATUS(tool, 0);
	CHECK(throttled_waits(tool) >= (uint64_t)FEW_WAITS);
	CHECK(throttled_ns(tool) > 0);
}

/* How many waits, how many of them throttled. */
TEST(the_last_line_says_how_many_waits_were_throttled)
{
	const char *cgroup = cgroup_make_limited("limited", LIMIT_PERCENT);
	struct proc *work, *tool;
	uint64_t held, others;

	SKIP_WITHOUT(cgroup);
	work = work_start("spin", "-m", CPU_MS);
	CHECK(cgroup_add(cgroup, work->pid));
	tool = trace_work(work, ARGV("runqlat", "--throttled", "-m", "-p", pid_text(work->pid)));
	held = hist_count_of(tool->out, "wait = throttled");
	others = hist_count_of(tool->out, "wait = contended");
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
	struct proc *work = work_start("spin", "-m", CPU_MS), *tool;
	struct sums sums;

	CHECK(cgroup_add(cgroup, work->pid));
	wait_until_blocked(work->pid);
	sums.before_ns = cgroup_throttled_ns(cgroup);
	tool = tool_start(tool_name, option, "--throttled", "--interval", interval, "-p",
			  pid_text(work->pid));
	do_limited(work, cgroup, &sums);
	tool_stop(tool);
	check_throttled(tool, folded_sum(tool->out, NULL, "[throttled]") * 1000, &sums);
	CHECK_CLOSE(truth_value(tool), folded_sum(tool->out, NULL, NULL), 5);
	if (!strcmp(option, "--wall"))
		CHECK_CLOSE(truth_value(tool), truth_ms(tool) * 1000, TOLERANCE);
	proc_kill(work);
}

TIMED_TEST(offcputime_tells_what_a_quota_causes)
{
	const char *cgroup = cgroup_make_limited("limited", LIMIT_PERCENT);

	SKIP_WITHOUT(cgroup);
	check_stacks(cgroup, "offcputime", "--runnable", "10s");
	check_stacks(cgroup, "offcputime", "-f", "10s");
	check_stacks(cgroup, "offcputime", "-f", "70ms");
}

TIMED_TEST(wall_time_tells_what_a_quota_causes)
{
	const char *cgroup = cgroup_make_limited("limited", LIMIT_PERCENT);

	SKIP_WITHOUT(cgroup);
	check_stacks(cgroup, "profile", "--wall", "10s");
	check_stacks(cgroup, "profile", "--wall", "70ms");
}

TEST(without_a_limit_no_wait_is_throttled)
{
	const char *cpu = text_of("%d", usable_cpu(0));
	struct proc *rival = work_start("spin", "-c", cpu, "-n", "rival");
	struct proc *work = work_start("spin", "-c", cpu, "-i", "31");
	struct proc *tool = tool_start("runqlat", "--throttled", "-p", pid_text(work->pid));

	work_go(rival);
	work_do(work);
	tool_stop(tool);
	CHECK_STATUS(tool, 0);
	CHECK(hist_count_of(tool->out, "wait = contended") >= 31 - 1);
	CHECK_EQ(lines_with(tool->out, "wait = throttled"), 0);
	CHECK_HAS(tool->out, " waits none was throttled: p90 ");
}

TIMED_TEST(throttled_time_in_intervals_adds_up)
{
	const char *cgroup = cgroup_make_limited("limited", LIMIT_PERCENT);
	struct proc *work, *tool;
	struct sums sums;

	SKIP_WITHOUT(cgroup);
	work = work_start("spin", "-m", CPU_MS);
	CHECK(cgroup_add(cgroup, work->pid));
	wait_until_blocked(work->pid);
	sums.before_ns = cgroup_throttled_ns(cgroup);
	tool = tool_start("runqlat", "--throttled", "--format", "json", "--interval", "300ms", "-p",
			  pid_text(work->pid));
	do_limited(work, cgroup, &sums);
	tool_stop(tool);
	CHECK(lines_from(tool->out, "{\"type\":\"throttled\",") > 2);
	check_throttled(tool, throttled_ns(tool), &sums);
	CHECK_EQ(json_sum(tool->out, "throttled", "waits"), truth_value(tool));
}

TEST(throttled_time_is_a_metric)
{
	const char *cgroup = cgroup_make_limited("limited", LIMIT_PERCENT);
	struct proc *work, *tool;

	SKIP_WITHOUT(cgroup);
	work = work_start("spin", "-m", CPU_MS);
	CHECK(cgroup_add(cgroup, work->pid));
	tool = trace_work(work, ARGV("runqlat", "--throttled", "--format", "prometheus", "-p",
				     pid_text(work->pid)));
	CHECK_HAS(tool->out, "tracelets_runqlat_wait_seconds_count{wait=\"throttled\"} ");
	CHECK_HAS(tool->out, "# TYPE tracelets_runqlat_throttled_seconds_total counter\n");
	CHECK_EQ(lines_from(tool->out, "tracelets_runqlat_throttled_seconds_total 0.0\n"), 0);
	CHECK_EQ(lines_from(tool->out, "tracelets_runqlat_throttled_seconds_total 0\n"), 0);
	CHECK_EQ(lines_from(tool->out, "tracelets_runqlat_throttled_seconds_total "), 1);
}

TEST(throttled_excludes_other_histograms)
{
	CHECK_REFUSED("exclude", "runqlat", "--throttled", "-P");
	CHECK_REFUSED("exclude", "runqlat", "--throttled", "--slower", "1ms");
}

TEST(every_wait_is_in_one_of_the_histograms)
{
	struct proc *work = work_start("pingpong", "1009");
	uint64_t before = task_switches(work->pid, 0);
	struct proc *tool =
		trace_work(work, ARGV("runqlat", "--throttled", "-p", pid_text(work->pid)));

	CHECK_SWITCHES(hist_count_of(tool->out, NULL), task_switches(work->pid, 0) - before);
}
