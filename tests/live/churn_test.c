// SPDX-License-Identifier: GPL-2.0-only
/*
 * Each tool beside thousands of processes that begin and end, and a program that goes on all the
 * time: its numbers are exact, its stacks complete, and the tool's memory and files are bounded.
 *
 * CHURN=N: so many processes ("make churn").
 */
#include <dirent.h>

#include "../work/leaky.h"
#include "live.h"

#define LANES	   "3"
#define MANY	   100000
#define SHORT_ONE  "/bin/true"
#define COPIES	   1000
#define BRIEF_US   300ULL /* that each of them sleeps */
#define WAIT_S	   120	  /* files are closed after half a minute, or a whole one */
#define FEW	   20	  /* per mille: samples may be a hundred */
#define MOST_KB	   (64 << 10)
#define MOST_FILES 1000 /* open ones: of those of the last half minute, not of 4,000 */

static int count_processes(void)
{
	const char *wanted = getenv("CHURN");

	return wanted && *wanted ? atoi(wanted) : at_size(4001, 211);
}

/* So many rounds, of some ms each, take about as long as the processes. */
static int count_rounds(void)
{
	return count_processes() / 4;
}

/* ---- what is to be seen ---- */

static void check_samples(const struct proc *tool, const struct proc *work)
{
	uint64_t expected = work_value(work->out, "spin", "samples");
	uint64_t n = folded_sum(tool->out, "spin", "spin_outer");

	check_through(tool, "spin", "_start", FEW);
	if (n + 3 < expected || n > expected + 3) /* few are neither much nor little */
		CHECK_CLOSE(n, expected, (uint64_t)at_size(50, 200));
}

static void check_naps(const struct proc *tool, const struct proc *work)
{
	check_through(tool, "plan-0", "_start", FEW);
	CHECK_CLOSE(folded_sum(tool->out, "plan-0", "plan_run"),
		    work_value(work->out, "plan-0", "off_ns") / 1000, (uint64_t)at_size(50, 120));
}

/* On CPU it may be met by no sample, without a stack, or by some. */
static void check_wall(const struct proc *tool, const struct proc *work)
{
	uint64_t on_us = folded_sum(tool->out, "plan-0", "[on cpu]");
	uint64_t off_us = folded_sum(tool->out, "plan-0", NULL) - on_us;
	uint64_t naps_us = work_value(work->out, "plan-0", "off_ns") / 1000;
	uint64_t seen_us = folded_sum(tool->out, "plan-0", "plan_run");

	CHECK(folded_sum(tool->out, "plan-0", "_start") * 1000 >= off_us * (1000 - FEW));
	if (seen_us < naps_us || seen_us > naps_us + on_us)
		CHECK_CLOSE(seen_us, naps_us, (uint64_t)at_size(50, 120));
}

/* Locks of the kernel, as the short ones have none: as many as their names, however many wait. */
static void check_locks(const struct proc *tool, const struct proc *work)
{
	(void)work;
	CHECK(lines_with(tool->out, "") < 10000);
}

static void check_count(const struct proc *tool, uint64_t n)
{
	if (n > (uint64_t)count_rounds() || n + faults_missed(tool) < (uint64_t)count_rounds())
		UNIT_FAIL("%llu faults, not %d: %s", (unsigned long long)n, count_rounds(),
			  tool->err);
}

static void check_faults(const struct proc *tool, const struct proc *work)
{
	(void)work;
	check_through(tool, "faults", "_start", FEW);
	check_count(tool, folded_sum(tool->out, "faults", "touch_outer;touch_pages"));
}

/* Lines of JSON tell the process. */
static void check_json(const struct proc *tool, const struct proc *work)
{
	const char *of_work = text_of("\"comm\":\"faults\",\"pid\":%d,", work->pid), *line;
	uint64_t sum = 0;

	for (const char *rest = tool->out; (line = line_with(&rest, of_work, "touch_pages"));)
		sum += number_in(line, "value");
	check_count(tool, sum);
}

static void check_calls(const struct proc *tool, const struct proc *work)
{
	uint64_t n = sum_from(tool->out, "getppid "), all = (uint64_t)count_rounds();

	(void)work;
	if (n > all || n + events_missed(tool) < all)
		UNIT_FAIL("%llu calls, not %llu: %.300s", (unsigned long long)n,
			  (unsigned long long)all, tool->err);
}

/* The table has no room for all of them; the work is there from the first. */
static void check_time_rows(const struct proc *tool, const struct proc *work)
{
	CHECK(sum_from(tool->out, text_of("%-6d %-15s", work->pid, "calls")) >=
	      (uint64_t)count_rounds() - events_missed(tool));
}

static void check_waits(const struct proc *tool, const struct proc *work)
{
	const char *title = text_of("pid = %d ", work->pid);

	CHECK(hist_count_of(tool->out, title) >= (uint64_t)count_rounds() * 98 / 100);
}

static void check_leaks(const struct proc *tool, const struct proc *work)
{
	(void)work;
	CHECK_EQ(folded_sum(tool->out, "leaky", "grow;malloc"),
		 (uint64_t)count_rounds() * GROW_BYTES);
}

/* ---- trials ---- */

static struct proc *start_brief(void)
{
	return work_start("brief", text_of("%d", count_processes()), LANES, SHORT_ONE);
}

/* However long that takes. */
static void wait_done(struct proc *work)
{
	while (!work->has_ended && !strstr(work->out, "@done\n"))
		proc_linger(work, 500);
}

static void check_memory(const struct proc *tool)
{
	if (getenv("CHURN"))
		printf("%s: %llu KiB at most\n", tool->name, (unsigned long long)tool->peak_kb);
	CHECK_PEAK(tool, MOST_KB);
}

static int count_files(const struct proc *tool)
{
	DIR *dir = opendir(text_of("/proc/%d/fd", tool->pid));
	int n = 0;

	CHECK(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static void check_files(const struct proc *tool)
{
	int n = count_files(tool);

	if (n > MOST_FILES)
		UNIT_FAIL("%s has %d files open", tool->name, n);
}

static struct proc *trace(struct proc *tool, struct proc *steady, struct proc *brief)
{
	work_go(steady);
	work_go(brief);
	wait_done(brief);
	wait_done(steady);
	check_files(tool);
	tool_stop(tool);
	CHECK_EQ(work_value(brief->out, "starter", "ended"), count_processes());
	check_memory(tool);
	return tool;
}

static const char *rounds(void)
{
	return text_of("%d", count_rounds());
}

/*
 * Puts both into a cgroup, so that the tool neither reports nor stores the rest of the machine.
 * Returns NULL if there can be none.
 */
static const char *gather(const struct proc *steady, const struct proc *brief)
{
	const char *cgroup = cgroup_make("churn");

	return cgroup && cgroup_add(cgroup, steady->pid) && cgroup_add(cgroup, brief->pid) ? cgroup
											   : NULL;
}

/* Each of a file of its own, as in a build, and only one report: names are found long before it. */
TEST(files_of_programs_that_are_gone_are_closed)
{
	struct proc *brief, *tool;
	const char *cgroup;

	if (count_processes() < MANY)
		SKIP("it takes a minute or two: \"make churn\"");
	brief = work_start("brief", text_of("%d", COPIES), "2", "copies");
	cgroup = cgroup_make("churn");
	if (!cgroup || !cgroup_add(cgroup, brief->pid))
		SKIP("no cgroups can be made here");
	tool = tool_start("offcputime", "--cgroup", cgroup, "-f");
	work_go(brief);
	wait_done(brief);
	for (int i = 0; i < WAIT_S && count_files(tool) > MOST_FILES; i++)
		proc_linger(tool, 1000);
	check_files(tool);
	tool_stop(tool);
	CHECK_EQ(work_value(brief->out, "starter", "ended"), COPIES);
	CHECK(folded_sum(tool->out, "brief", "brief_middle;brief_leaf") >
	      COPIES * BRIEF_US * 999 / 1000);
	check_memory(tool);
}

/* Returns the reason why a trial of that tool can't run here, or NULL. */
static const char *what_lacks(const char *tool, const char *cgroup)
{
	if (access(SHORT_ONE, X_OK))
		return "no " SHORT_ONE;
	if (!cgroup)
		return "no cgroups can be made here";
	return strcmp(tool, "memleak") ? NULL : memleak_lacks();
}

/* check(): of the tool beside that work, whose process is `steady`. */
#define TRIAL(name, check, work, ...)                                         \
	TEST(name)                                                            \
	{                                                                     \
		struct proc *steady = work, *brief = start_brief();           \
		const char *cgroup = gather(steady, brief);                   \
		const char *lacks = what_lacks(ARGV(__VA_ARGS__)[0], cgroup); \
                                                                              \
		if (lacks)                                                    \
			SKIP("%s", lacks);                                    \
		check(trace(tool_start(__VA_ARGS__), steady, brief), steady); \
	}

/* On a CPU of its own: time slices would fall in step with the samples. */
#define SPIN  work_start("spin", "-r", "-m", rounds(), "-s", "499")
#define PLAN  work_start("plan", "1", rounds(), "2", "1")
#define CALLS work_start("calls", "slow", rounds())
#define TOUCH work_start("faults", text_of("slow:%d", count_rounds()))
#define GROW  work_start("leaky", "grow", rounds())

#define HERE  "--cgroup", cgroup
#define BOTH  text_of("%d,%d", steady->pid, brief->pid)
#define NEVER "--interval", "1000s"
#define ROOM  "--entries", "100000" /* the table of blocks is mapped, and no process's */

TRIAL(profile_beside_short_processes, check_samples, SPIN, "profile", HERE, "-F", "499")
TRIAL(profile_every_second, check_samples, SPIN, "profile", HERE, "-F", "499", "-f", "--interval",
      "1s")
TRIAL(offcputime_beside_short_processes, check_naps, PLAN, "offcputime", HERE)
TRIAL(offcputime_every_second, check_naps, PLAN, "offcputime", HERE, "-f", "--interval", "1s")
TRIAL(wall_time_beside_short_processes, check_wall, PLAN, "profile", "--wall", HERE)
TRIAL(wall_time_every_second, check_wall, PLAN, "profile", "--wall", HERE, "-f", "--interval", "1s")
TRIAL(locks_beside_short_processes, check_locks, PLAN, "locks", HERE, "-f")
TRIAL(pagefaults_beside_short_processes, check_faults, TOUCH, "pagefaults", HERE, "-f")
TRIAL(pagefaults_every_second, check_faults, TOUCH, "pagefaults", HERE, "-f", "1")
TRIAL(pagefaults_by_process, check_json, TOUCH, "pagefaults", HERE, "--format", "json")
TRIAL(runqlat_beside_short_processes, check_waits, PLAN, "runqlat", HERE, "-P")
TRIAL(syscount_beside_short_processes, check_calls, CALLS, "syscount", HERE, "-T", "999")
TRIAL(syscount_every_second, check_calls, CALLS, "syscount", HERE, "-L", "-T", "999", "-i", "1")
TRIAL(syscount_times_by_process, check_time_rows, CALLS, "syscount", HERE, "-L", "-P", "-T",
      "99999")
TRIAL(memleak_beside_short_processes, check_leaks, GROW, "memleak", ROOM, "-f", "-o", "0", NEVER,
      "-p", pid_text(steady->pid))
TRIAL(memleak_follows_short_processes, check_leaks, GROW, "memleak", ROOM, "-f", "-o", "0", NEVER,
      "--follow", "-p", BOTH)
