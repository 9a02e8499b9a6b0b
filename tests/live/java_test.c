// SPDX-License-Identifier: GPL-2.0-only
/*
 * Frames of Java's methods, with the machine's JDK and its default options. The program that is
 * traced (tests/work/Levels.java) runs methods of three levels in turn, so that a stack shows
 * whether a method is missing, doubled or wrong.
 */
#include <ctype.h>
#include <glob.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "live.h"

#define SECONDS "6"
#define LEVELS	3
#define HEAP	"[frames in the heap]" /* of a virtual thread */

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

/*
 * Compares a stack with what the program can do: each method of a level is called by "call". After
 * frames that are in the heap, any level may follow.
 */
static bool is_possible(const char *line, size_t *n_levels)
{
	int next = 0, n_calls = 0;
	bool is_any = false;

	for (const char *frame = line; *frame && *frame != '\n'; frame += *frame == ';') {
		size_t n = strcspn(frame, ";\n");
		int level = level_of(frame, n);

		if (is_frame(frame, n, HEAP) && (is_any || next || n_calls))
			return false;
		is_any |= is_frame(frame, n, HEAP);
		n_calls += is_frame(frame, n, "Levels.call");
		if (level >= 0) {
			if (!is_any && (level != next || n_calls != 1))
				return false;
			is_any = false;
			next = level;
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

/* ---- virtual threads ---- */

/* Returns the newest JDK that has virtual threads; NULL: none. */
static const char *find_new_java(void)
{
	static const char *const versions[] = { "27", "26", "25", "21" };
	const char *found = NULL;
	glob_t paths;

	for (size_t i = 0; !found && i < sizeof(versions) / sizeof(*versions); i++) {
		if (glob(text_of("/usr/lib/jvm/*-%s-*/bin/java", versions[i]), 0, NULL, &paths))
			continue;
		found = text_of("%s", paths.gl_pathv[0]);
		globfree(&paths);
	}
	return found;
}

static const char *new_java_lacks(void)
{
	const char *lacks = java_lacks();

	return lacks || find_new_java() ? lacks : "/usr/lib/jvm has no Java 21, 25, 26 or 27";
}

/* Returns true if the carrier's frames begin the stack, and those of a virtual thread follow. */
static bool is_carried(const char *line)
{
	static const char entry[] = ";jdk.internal.vm.Continuation.enterSpecial;" HEAP ";",
			  carrier[] = ";java.util.concurrent.ForkJoinWorkerThread.run;";
	size_t n = strcspn(line, "\n");
	const char *at = memmem(line, n, entry, strlen(entry));

	return at && memmem(line, (size_t)(at - line), carrier, strlen(carrier));
}

/*
 * The threads sleep and yield at any depth, so that most of their stacks are partly in the heap.
 * The machine's beginning, with no virtual threads yet, is a part of the run.
 */
TEST_UNLESS(new_java_lacks, virtual_threads_have_their_frames_above_those_of_their_carrier)
{
	struct proc *tool = tool_run("profile", "-v", "-U", "-F", "499", "--", find_new_java(),
				     "-cp", work_path("levels.jar"), "Levels", SECONDS, "virtual");
	size_t n_levels = 0, n = 0, n_bad = 0;
	const char *bad = "";

	for (const char *line = tool->out; *line; line = strchr(line, '\n') + 1) {
		if (!memmem(line, strcspn(line, "\n"), ";" HEAP ";", strlen(";" HEAP ";")))
			continue;
		n++;
		if (is_carried(line) && is_possible(line, &n_levels))
			continue;
		n_bad++;
		bad = line;
	}
	if (n_bad * 20 > n + 40)
		UNIT_FAIL("%zu of %zu are no stacks of the program: %.*s", n_bad, n,
			  (int)strcspn(bad, "\n"), bad);
	CHECK(n_levels > 100);
	if (complete_percent(tool) < 75)
		UNIT_FAIL("too few are complete: %s", tool->err);
}

/*
 * Addresses of a class that was unloaded belong to another one, whose method has another name. Each
 * sleeps 200 times for a millisecond or more.
 */
TEST_UNLESS(java_lacks, methods_of_classes_that_take_the_place_of_others_have_their_own_names)
{
	struct proc *tool =
		tool_run("offcputime", "-U", "-f", "--", "/usr/bin/java", "-XX:+UseSerialGC", "-cp",
			 work_path("levels.jar"), "Levels", "replace");
	uint64_t early = folded_sum_with(tool->out, NULL, ";Levels$Brief.napEarly;"),
		 later = folded_sum_with(tool->out, NULL, ";Levels$Brief.napLater;");

	if (early < 100000 || later < 100000)
		UNIT_FAIL("%llu us in the early ones, %llu us in the later ones",
			  (unsigned long long)early, (unsigned long long)later);
}

/* The loader learns of inlined methods after the sample. Where it is too late, it says so. */
TEST_UNLESS(java_lacks, stacks_whose_inlined_methods_are_gone_count_as_lacking_some)
{
	struct proc *tool = tool_run("profile", "-U", "-f", "-F", "499", "--", "/usr/bin/java",
				     "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp",
				     work_path("levels.jar"), "Levels", "free");
	const char *said = strstr(tool->err, "managed runtimes: ");
	double all = (double)folded_sum(tool->out, NULL, NULL),
	       lacking = (double)folded_sum_with(tool->out, NULL, ";[unknown]");

	CHECK(said);
	CHECK(folded_sum_with(tool->out, NULL, ";Levels$Freed.run") > 0);
	CHECK(said && strtod(strchr(said, ':') + 1, NULL) <= 100 - 100 * lacking / all + 0.01);
}

/* Checks that 95 % of the stacks in a stub begin at the workload's outermost method. */
static void check_callers(const struct proc *tool, const char *stub)
{
	static const char thread[] = "check;", root[] = ";Levels.check;";
	uint64_t n = 0, n_whole = 0, count;

	for (const char *line = tool->out; *line; line = strchr(line, '\n') + 1) {
		size_t length = strcspn(line, "\n");

		if (strncmp(line, thread, strlen(thread)) != 0 ||
		    !memmem(line, length, stub, strlen(stub)))
			continue;
		count = strtoull(memrchr(line, ' ', length), NULL, 10);
		n += count;
		n_whole += memmem(line, length, root, strlen(root)) ? count : 0;
	}
	CHECK(n > 10);
	if ((n - n_whole) * (uint64_t)at_size(20, 10) > n + 20)
		UNIT_FAIL("%llu of %llu stacks in %s have no callers",
			  (unsigned long long)(n - n_whole), (unsigned long long)n, stub);
}

/*
 * C1's checks of types and its handling of exceptions call stubs that have no frame of their own,
 * with something pushed on the method's. No method of these is inlined, so none is unknown.
 */
TEST_UNLESS(java_lacks, stacks_in_stubs_without_a_frame_are_complete)
{
	struct proc *tool = tool_run("profile", "-U", "-f", "-F", "999", "--", "/usr/bin/java",
				     "-XX:TieredStopAtLevel=1", "-cp", work_path("levels.jar"),
				     "Levels", "check");

	check_callers(tool, "Levels.kinds");
	check_callers(tool, "slow_subtype_check");
#if !defined(__aarch64__) /* the stub saves x30 where no rule finds it */
	check_callers(tool, "unwind_exception");
#endif
	if (folded_sum_with(tool->out, "check", ";[unknown]") * 50 >
	    folded_sum(tool->out, "check", NULL)) /* of the last milliseconds */
		UNIT_FAIL("methods are unknown: %s", tool->out);
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

#define TICK_MS 5000 /* as in common/stacks/stack_rings.c */

/*
 * The stopped tool finds the runtime after Java's threads have blocked, and walks them again.
 */
TEST_UNLESS(java_lacks, threads_that_wait_before_java_is_known_get_its_methods)
{
	const char *script = text_of("echo @ready; read x; exec /usr/bin/java -cp %s Levels 0",
				     work_path("levels.jar"));
	struct proc *work = work_start_in(NULL, NULL, "/bin/sh", ARGV("sh", "-c", script));
	struct proc *tool = tool_start_on(work, "offcputime", "-U");

	proc_signal(tool, SIGSTOP);
	CHECK_EQ(write(work->in_fd, "\n", 1), 1);
	CHECK(proc_wait_for(work, "@waiting"));
	proc_signal(tool, SIGCONT);
	CHECK(proc_wait_for(tool, "its BPF programs are loaded"));
	proc_linger(tool, TICK_MS + 1000);
	tool_stop(tool);
	CHECK_HAS(tool->out, ";Levels.waitInObject;");
	CHECK_HAS(tool->out, ";Levels.waitInPark;");
	proc_kill(work);
}
