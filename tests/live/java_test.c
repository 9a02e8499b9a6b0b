// SPDX-License-Identifier: GPL-2.0-only
/*
 * Frames of Java's methods, with the machine's JDK and its default options. The program that is
 * traced (tests/work/Levels.java) runs methods of three levels in turn, so that a stack shows
 * whether a method is missing, doubled or wrong.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "live.h"

#define SECONDS "6"
#define LEVELS	3

static const char *java_lacks(void)
{
	return access(work_path("levels.jar"), R_OK) ? "needs package default-jdk-headless" : NULL;
}

/* Returns the level of a method; -1: it has none. */
static int level_of(const char *frame, size_t n)
{
	static const char made[] = "Levels.made", step[] = "Levels$", go[] = ".go";

	if (n == sizeof(made) && !strncmp(frame, made, sizeof(made) - 1))
		return frame[n - 1] - '0';
	if (n < sizeof(step) + sizeof(go) || strncmp(frame, step, sizeof(step) - 1) ||
	    strncmp(frame + n - strlen(go), go, strlen(go)) || frame[sizeof(step) - 1] == '$' ||
	    !isdigit(frame[n - sizeof(go)])) /* $$: a lambda's class */
		return -1;
	return frame[n - sizeof(go)] - '0';
}

static bool is_frame(const char *frame, size_t n, const char *name)
{
	return n == strlen(name) && !strncmp(frame, name, n);
}

/* Compares a stack with what the program can do: each method of a level is called by "call". */
static bool is_possible(const char *line, size_t *n_levels)
{
	int next = 0, n_calls = 0;

	for (const char *frame = line; *frame && *frame != '\n'; frame += *frame == ';') {
		size_t n = strcspn(frame, ";\n");
		int level = level_of(frame, n);

		n_calls += is_frame(frame, n, "Levels.call");
		if (level >= 0) {
			if (level != next || n_calls != 1)
				return false;
			next = (next + 1) % LEVELS;
			n_calls = 0;
			++*n_levels;
		}
		frame += n;
	}
	return n_calls <= 1;
}

/* Returns true if the stack is not cut above the program's outermost method. */
static bool has_root(const char *line)
{
	static const char root[] = ";Levels.work;";

	return memmem(line, strcspn(line, "\n"), root, sizeof(root) - 1);
}

static double complete_percent(const struct proc *tool)
{
	const char *at = strstr(tool->err, "user stacks: ");

	return at && strstr(at, " % complete") ? atof(at + strlen("user stacks: ")) : 0;
}

/*
 * Inlined methods are absent if their code was freed before the loader read them, as happens while
 * it is compiled.
 */
TEST_UNLESS(java_lacks, samples_of_java_are_its_stacks)
{
	struct proc *tool = tool_run("profile", "-v", "-U", "-F", "499", "--", "java", "-cp",
				     work_path("levels.jar"), "Levels", SECONDS, "end");
	size_t n_levels = 0, n = 0, n_bad = 0;
	const char *bad = "";

	for (const char *line = tool->out; *line; line = strchr(line, '\n') + 1) {
		if (strncmp(line, "levels-", strlen("levels-")) != 0 || !has_root(line))
			continue;
		n++;
		if (is_possible(line, &n_levels))
			continue;
		n_bad++;
		bad = line;
	}
	if (n_bad * 20 > n + 40) /* where the machine is busy, n is small */
		UNIT_FAIL("%zu of %zu are no stacks of the program: %.*s", n_bad, n,
			  (int)strcspn(bad, "\n"), bad);
	CHECK(n_levels > 100);
	if (complete_percent(tool) < 75) /* the machine that starts is the worst of it */
		UNIT_FAIL("too few are complete: %s", tool->err);
	CHECK_HAS(tool->out, ";java.lang.Thread.run;");
	CHECK(folded_sum_with(tool->out, NULL, ";java.util.Arrays.sort;") > 0);
}

/* The loader walks the stacks of threads that were blocked when tracing began. */
TEST_UNLESS(java_lacks, threads_of_java_that_wait_have_its_methods)
{
	struct proc *work =
		tool_launch("/usr/bin/java", "-cp", work_path("levels.jar"), "Levels", "0");
	struct proc *tool;

	CHECK(proc_wait_for(work, "@waiting"));
	tool = tool_run_on(work, "offcputime", "-U", "--lines", "500ms");
	CHECK_HAS(tool->out, ";Levels.waitInObject (Levels.java:");
	CHECK_HAS(tool->out, ";java.lang.Object.wait (Object.java:");
	CHECK_HAS(tool->out, ";Levels.waitInPark (Levels.java:");
	CHECK_HAS(tool->out, "[blocked throughout]");
	proc_kill(work);
}
