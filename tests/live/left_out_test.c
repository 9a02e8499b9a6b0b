// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of filters: stacks by the names of their frames (--only, --without) in every tool that has
 * stacks, and waits at rest (--no-idle). The report says how much is left out.
 */
#include "live.h"

#define LEFT_OUT "filtered out by --only or --without: "

/* A tool, a workload for it, and two functions that are never in the same stack. */
struct subject {
	const char *tool, *option;
	const char *work[5];
	const char *wanted, *unwanted;
};

static const struct subject subjects[] = {
	{ "profile", "-U", { "tree", "1", "spin", "300000" }, "left", "right" },
	{ "offcputime", "-U", { "tree", "1", "nap", "300000" }, "left", "right" },
	{ "pagefaults", "-U", { "leaky", "all", "1" }, "leak_realloc", "leak_aligned" },
	{ "memleak", "-o0", { "leaky", "all", "1" }, "leak_calloc", "leak_strdup" },
};

/* Traces the subject's work with an option and a pattern. */
static struct proc *trace_subject(const struct subject *s, const char *format, const char *option,
				  const char *name)
{
	struct proc *work = work_start_argv(s->work);

	return trace_pid(work, s->tool, s->option, "--format", format, option,
			 text_of("^%s$", name));
}

static bool lacks_tool(const struct subject *s)
{
	return !strcmp(s->tool, "memleak") && memleak_lacks();
}

static const char *const formats[] = { "folded", "text", "json" };

TEST(stacks_are_left_out_by_name)
{
	for (size_t i = 0; i < sizeof(subjects) / sizeof(*subjects); i++) {
		const struct subject *s = &subjects[i];

		for (size_t k = 0; k < 3 && !lacks_tool(s); k++) {
			struct proc *tool = trace_subject(s, formats[k], "--without", s->unwanted);

			CHECK_HAS(tool->out, s->wanted);
			CHECK_LACKS(tool->out, s->unwanted);
			CHECK_HAS(tool->err, LEFT_OUT);
		}
	}
}

TEST(only_stacks_of_that_name_are_shown)
{
	for (size_t i = 0; i < sizeof(subjects) / sizeof(*subjects); i++) {
		const struct subject *s = &subjects[i];
		struct proc *tool;

		if (lacks_tool(s))
			continue;
		tool = trace_subject(s, "folded", "--only", s->wanted);
		CHECK(folded_sum(tool->out, s->work[0], s->wanted) > 0);
		CHECK_EQ(folded_sum(tool->out, NULL, s->wanted), folded_sum(tool->out, NULL, NULL));
		CHECK_HAS(tool->err, LEFT_OUT);
	}
}

/* The workload's threads wait in the functions that event loops and pools are known by. */
TEST(waits_at_rest_are_one_row)
{
	struct proc *work = work_start("resting", "300");
	struct proc *tool = trace_pid(work, "offcputime", "-f", "--no-idle");

	/* The functions' names are left only for moments in which another thread ran. */
	CHECK(folded_sum(tool->out, "loop", "[idle]") > folded_sum(tool->out, "loop", "ev_run"));
	CHECK(folded_sum(tool->out, "pool", "[idle]") >
	      folded_sum(tool->out, "pool", "g_async_queue_pop"));
	CHECK(folded_sum(tool->out, "handler", "ev_run;handle_request;wait_for_lock") > 0);
	CHECK_EQ(folded_sum(tool->out, "handler", "[idle]"), 0);
	CHECK_HAS(tool->err, "in worker pools and event loops, shown as [idle]\n");
}

TEST(waits_at_rest_have_their_stacks_otherwise)
{
	struct proc *work = work_start("resting", "300");
	struct proc *tool = trace_pid(work, "offcputime", "-f");

	CHECK(folded_sum(tool->out, "loop", "ev_run") > 0);
	CHECK(folded_sum(tool->out, "pool", "g_async_queue_pop") > 0);
	CHECK_LACKS(tool->out, "[idle]");
	CHECK_LACKS(tool->err, "[idle]");
}

/* Returns the idle percentage of the line at the end; -1 if it has none. */
static double idle_percent(const struct proc *tool)
{
	const char *line = strstr(tool->err, ": idle: "), *comma = line ? strchr(line, ',') : NULL;

	return comma ? atof(comma + 1) : -1;
}

static void check_idle_share(const struct proc *tool)
{
	double idle = (double)folded_sum(tool->out, NULL, "[idle]"),
	       all = (double)folded_sum(tool->out, NULL, NULL);
	double shown = all > 0 ? 100 * idle / all : 0, told = idle_percent(tool);

	CHECK(idle > 0);
	if (told < shown - 0.1 || told > shown + 0.1)
		UNIT_FAIL("%.2f %% are idle, but it tells: %s", shown, tool->err);
}

/* One thread waits throughout, and is not in the result. */
TEST(the_share_at_rest_is_that_of_the_result)
{
	struct proc *sleeper = work_start("pingpong", "1"), *work = work_start("resting", "300");
	struct proc *tool = trace_work(work, ARGV("offcputime", "--no-idle", "-x", "-p",
						  text_of("%d,%d", sleeper->pid, work->pid)));

	check_idle_share(tool);
	work = work_start("resting", "300");
	tool = trace_pid(work, "offcputime", "--no-idle", "--without", "^handler$");
	check_idle_share(tool);
}

TEST(what_is_at_rest_and_left_out_by_name_is_not_told_as_shown)
{
	struct proc *work = work_start("resting", "300");
	struct proc *tool = trace_pid(work, "offcputime", "--no-idle", "--without", "^\\[idle\\]$");

	CHECK_HAS(tool->err, LEFT_OUT);
	CHECK_LACKS(tool->err, "shown as [idle]");
}

TEST(kernel_threads_at_rest_are_idle)
{
	static const char *const comms[] = { "kthreadd", "kdevtmpfs", "khungtaskd" };
	struct proc *tool = tool_run("offcputime", "-f", "-k", "--no-idle", "1s");
	uint64_t idle = 0, all = 0;

	CHECK(folded_sum(tool->out, NULL, "[idle]") > 0);
	for (size_t i = 0; i < sizeof(comms) / sizeof(*comms); i++) {
		idle += folded_sum(tool->out, comms[i], "[idle]");
		all += folded_sum(tool->out, comms[i], NULL);
	}
	CHECK(idle * 2 >= all); /* they have work at times, and a wait may have no kernel stack */
	CHECK_LACKS(tool->out, ";worker_thread;schedule ");
}
