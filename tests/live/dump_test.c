// SPDX-License-Identifier: GPL-2.0-only
/*
 * dump, live: what it prints is held against what the workload does: goroutines of known numbers
 * and waits, threads in known system calls, a deadlock, functions of Python.
 */
#include <string.h>
#include <unistd.h>

#include "live.h"
#include "python.h"

static const char *go_lacks(void)
{
#ifndef __x86_64__
	return "goroutines are read on x86-64";
#endif
	return access(work_path("goknown"), X_OK) ? "needs package golang-go" : NULL;
}

/* Each function has n goroutines, in one state, all with a stack to where they began. */
static void check_goroutines(int n)
{
	static const struct {
		const char *function, *state;
	} waits[] = {
		{ "main.waitReceive", "[goroutine: chan receive];runtime.goexit;" },
		{ "main.waitSelect", "[goroutine: select];runtime.goexit;" },
		{ "main.waitMutex", "[goroutine: s" }, /* semacquire, later sync.Mutex.Lock */
		{ "main.waitGroup", "[goroutine: s" }, /* likewise */
		{ "main.waitSleep", "[goroutine: sleep];runtime.goexit;" },
		{ "main.waitDeep", "[goroutine: chan receive];runtime.goexit;" },
	};
	struct proc *work = work_start("goknown", "0", text_of("%d", n));
	struct proc *tool = tool_run("dump", "-f", "-p", pid_text(work->pid));

	for (size_t i = 0; i < ARRAY_SIZE(waits); i++) {
		const char *line = first_line(tool->out, waits[i].function, "[goroutine: ");

		CHECK_EQ(folded_sum_with(tool->out, "goknown", waits[i].function), n);
		if (strncmp(line, "goknown;", 8) ||
		    strncmp(line + 8, waits[i].state, strlen(waits[i].state)))
			UNIT_FAIL("%s: %.200s", waits[i].function, line);
	}
	CHECK_LACKS(tool->err, "incomplete");
	CHECK_LACKS(tool->err, "not read");
}

TEST_UNLESS(go_lacks, goroutines_are_counted_by_stack_and_wait)
{
	check_goroutines(3);
}

TEST_UNLESS(go_lacks, all_of_many_goroutines_are_seen)
{
	check_goroutines(at_size(5000, 500));
}

TEST_UNLESS(go_lacks, text_has_numbers_and_waits_of_goroutines)
{
	struct proc *work = work_start("goknown", "0", "3");
	struct proc *tool = tool_run("dump", "-p", pid_text(work->pid));

	CHECK_HAS(tool->out, text_of("goknown (%d): ", work->pid), " goroutines\n",
		  "    3 goroutines [select], longest at least ", "        main.waitSelect\n");
}

TEST(threads_have_their_call_and_kernel_stack)
{
	struct proc *work = work_start("deadlock", "1", "free");
	struct proc *tool = tool_run("dump", "--format", "json", "-p", pid_text(work->pid));
	const char *line = first_line(tool->out, "\"remark\":\"read\"", "\"kind\":\"kernel\"");

	CHECK_HAS(line, text_of("\"pid\":%d", work->pid), text_of("\"first\":%d", work->pid),
		  "\"comm\":\"deadlock\"", "\"state\":\"S\"");
}

TEST(deadlock_is_named_with_the_threads_that_have_the_locks)
{
	struct proc *work = work_start("deadlock", "2");
	struct proc *tool;

	work_do(work);
	tool = tool_run("dump", "-p", pid_text(work->pid));
	CHECK_HAS(tool->out, "held now: deadlock:mutexes by waits0 (", "[deadlock]\n");
}

TEST_UNLESS(python_lacks, functions_of_python_are_where_its_threads_wait)
{
	static const char text[] = "import sys\n"
				   "def inner():\n"
				   "    print('@ready', flush=True)\n"
				   "    sys.stdin.read(1)\n"
				   "def outer():\n"
				   "    inner()\n"
				   "outer()\n";
	struct proc *work = work_start_in(NULL, NULL, python_path(),
					  ARGV("python3", python_script("waits.py", text)));
	struct proc *tool = tool_run("dump", "-f", "-p", pid_text(work->pid));

	CHECK_HAS(tool->out, "<module> (waits.py);outer (waits.py);inner (waits.py);");
}

#define NODE "/usr/bin/node"

static const char *node_lacks(void)
{
	return access(NODE, X_OK) ? "needs package nodejs" : NULL;
}

/* Its registers may be needed to get to the functions: only what is found has to be true. */
TEST_UNLESS(node_lacks, process_of_node_is_read)
{
	static const char text[] = "const fs = require('fs');\n"
				   "function inner() {\n"
				   "  fs.writeSync(1, '@ready\\n');\n"
				   "  fs.readSync(0, Buffer.alloc(1));\n"
				   "}\n"
				   "function outer() { inner(); }\n"
				   "outer();\n";
	struct proc *work =
		work_start_in(NULL, NULL, NODE, ARGV("node", python_script("waits.js", text)));
	struct proc *tool = tool_run("dump", "-f", "-p", pid_text(work->pid));

	CHECK(folded_sum(tool->out, "node", NULL) > 1);
	if (strstr(tool->out, "outer (waits.js)"))
		CHECK_HAS(tool->out, ";outer (waits.js);inner (waits.js);");
}

TEST(process_that_is_gone_is_an_error)
{
	struct proc *tool = tool_try("dump", "-p", "4194304");

	CHECK_STATUS(tool, 1);
	CHECK_HAS(tool->err, "process 4194304");
}

TEST(wrong_command_lines_are_refused)
{
	CHECK_REFUSED("no process", "dump");
	CHECK_REFUSED("pprof", "dump", "-p", "1", "--format", "pprof");
	CHECK_REFUSED("operand", "dump", "185");
}
