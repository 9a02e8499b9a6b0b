// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of runtimes whose code has no names, or hides its callers: a program that makes code at run
 * time bears the names of runtimes' programs.
 */
#include "live.h"

#define JIT_NAME "Ljava/util/HashMap\\x3b::resize(I)[B interpreted"

static const struct {
	const char *name, *option, *value;
} tools[] = {
	{ "profile", "-F", "997" },
	{ "offcputime", "-m", "1ms" },
	{ "pagefaults", "--unwind", "auto" },
	{ "memleak", "--older", "0" },
};

/* The workload under another name. */
static struct proc *start_as(const char *name, const char *style)
{
	const char *path = text_of("%s/%s", folder_make(), name);

	CHECK(file_copy(work_path("jit"), path));
	return work_start_in(NULL, NULL, path, ARGV(name, style));
}

static struct proc *trace_as(size_t tool, const char *name, const char *style, const char *extra,
			     const char **pid)
{
	struct proc *work = start_as(name, style);

	*pid = pid_text(work->pid);
	return trace_work(work, ARGV(tools[tool].name, "-U", "-p", *pid, tools[tool].option,
				     tools[tool].value, extra));
}

/* A program under a runtime's name, what is seen of it, and the remedy. */
static const struct {
	const char *name, *style, *seen, *remedy;
} runtimes[] = {
	{ "node", "busy", ";main;[jit];jit_wait",
	  " % of stacks with unnamed JIT code (start it with --perf-basic-prof "
	  "--interpreted-frames-native-stack; see tracelets-stacks(7))\n" },
	{ "libcoreclr.so", "lost", ";[jit];jit_wait",
	  " % of stacks truncated in JIT code (start it with DOTNET_PerfMapEnabled=1 in its "
	  "environment; see " },
};

/* memleak is the last one: it needs probes with cookies. */
TEST(made_code_is_told_with_what_gives_it_names_and_keeps_callers)
{
	size_t n_tools = sizeof(tools) / sizeof(*tools) - (memleak_lacks() != NULL);

	for (size_t i = 0; i < 2 * n_tools; i++) {
		const char *pid, *tool_name = tools[i / 2].name;
		struct proc *tool =
			trace_as(i / 2, runtimes[i % 2].name, runtimes[i % 2].style, "-f", &pid);

		CHECK_HAS(tool->out, runtimes[i % 2].seen);
		CHECK_HAS(tool->err,
			  text_of("%s: %s (PID %s): ", tool_name, i % 2 ? ".NET" : "node", pid));
		CHECK_HAS(tool->err, runtimes[i % 2].remedy);
		if (i % 2)
			CHECK_LACKS(tool->out, ";main;");
	}
}

TEST(a_quiet_tool_says_nothing_of_it)
{
	struct proc *work = start_as("node", "silent"), *tool;

	tool = tool_run_on(work, "offcputime", "-U", "300ms");
	CHECK_HAS(tool->err, "offcputime: node (PID ");
	tool = tool_run_on(work, "offcputime", "-U", "--quiet", "300ms");
	CHECK_STR(tool->err, "");
}

TEST(a_stack_with_none_of_its_runtimes_functions_lacks_them)
{
	const char *pid;
	struct proc *tool = trace_as(0, "node", "busy", "-v", &pid);

	CHECK_HAS(tool->err, "managed runtimes: 0.00 % of their user stacks have all functions\n");
}

TEST(made_code_of_nobody_known_keeps_its_name)
{
	const char *pid;
	struct proc *tool = trace_as(0, "odd", "lost", "-f", &pid);

	CHECK_HAS(tool->out, ";[anon];jit_wait");
	CHECK_HAS(tool->err, text_of("odd (PID %s): ", pid));
	CHECK_HAS(tool->err, " % of stacks truncated in JIT code (unknown JIT: ");
}

/* Names that are there need no word. */
TEST(a_runtime_that_tells_its_names_is_left_alone)
{
	struct proc *work = start_as("node", "java"), *tool;

	tool = tool_run_on(work, "offcputime", "-U", "300ms");
	CHECK_LACKS(tool->err, "node (PID");
}

/* Folded stacks have no pids: what was counted early has lost its process by the end. */
TEST(it_is_told_where_stacks_have_no_pids)
{
	struct proc *work = start_as("node", "busy"), *tool;

	tool = trace_pid(work, "profile", "-U", "-f", "-F", "997", "--stack-storage-size", "2");
	CHECK_HAS(tool->err, text_of("node (PID %d): ", work->pid));
}
