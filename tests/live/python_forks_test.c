// SPDX-License-Identifier: GPL-2.0-only
/* Frames of Python in processes that were forked: a child has in BPF what its parent had then. */
#include "python.h"

static const char workers[] = "import os, sys, threading, time\n"
			      "def busy(end):\n"
			      "    while time.process_time() < end:\n"
			      "        sum(range(1000))\n"
			      "def work(end):\n"
			      "    threads = [threading.Thread(target=busy, args=(end,))\n"
			      "               for _ in range(2)]\n"
			      "    for thread in threads:\n"
			      "        thread.start()\n"
			      "    for thread in threads:\n"
			      "        thread.join()\n"
			      "if not os.fork():\n"
			      "    work(time.process_time() + 1.5)\n"
			      "    os._exit(0)\n"
			      "os.wait()\n"
			      "if sys.version_info < (3, 11):\n"
			      "    print('@old', file=sys.stderr)\n";

/*
 * As servers do that load what they need and then fork workers with threads. The parent was found
 * before it had any thread, and is never without its frames, as long as it has one. Samples are
 * few: one of the parent's first milliseconds would make it looked at again.
 */
TEST_UNLESS(python_lacks, a_forked_process_with_threads_has_them)
{
	struct proc *tool;
	const char *script = python_script("workers.py", workers);

	for (int i = 0; i < at_size(4, 1); i++) {
		tool = tool_run("profile", "-U", "-f", "-F", "19", "--", python_path(), script);
		if (strstr(tool->err, "@old"))
			SKIP("before 3.11 calls and frames have to agree");
		if (python_share(tool) < 25)
			UNIT_FAIL("too few have their functions: %s", tool->err);
		CHECK(lines_with(tool->out, ";busy (workers.py)") > 0);
	}
}

static const char crowd[] = "import os, select, signal, sys, time\n"
			    "ends = os.pipe()\n"
			    "def nap(name):\n"
			    "    with open('/proc/self/comm', 'w') as file:\n"
			    "        file.write('napping')\n"
			    "    names = {'sleep': time.sleep}\n"
			    "    exec('def %s():\\n    sleep(0.05)' % name, names)\n"
			    "    names[name]()\n"
			    "    os.write(ends[1], b'x')\n"
			    "    while True:\n"
			    "        names[name]()\n"
			    "children = []\n"
			    "print('@ready', flush=True)\n"
			    "sys.stdin.buffer.read(1)\n"
			    "while not select.select([0], [], [], 0.0003)[0]:\n"
			    "    if len(children) < 400:\n"
			    "        children.append(os.fork())\n"
			    "        if not children[-1]:\n"
			    "            nap('nap_%d' % len(children))\n"
			    "sys.stdin.buffer.read(1)\n"
			    "for child in children:\n"
			    "    os.read(ends[0], 1)\n"
			    "print('@crowd children %d' % len(children), flush=True)\n"
			    "sys.stdin.buffer.read(1)\n"
			    "for child in children:\n"
			    "    os.kill(child, signal.SIGKILL)\n"
			    "print('@done', flush=True)\n"
			    "sys.stdin.buffer.read(1)\n";

#define LIMIT_S 120

/* How many of them have no stack with their function in any report. */
static int count_without(const struct proc *tool, int n)
{
	int n_without = 0;

	for (int i = 1; i <= n; i++)
		n_without += !strstr(tool->out, text_of(";nap_%d (", i));
	return n_without;
}

static void check_crowd(const char *script)
{
	struct proc *work = python_start(script, NULL), *tool;
	int n;

	work_go(work);
	tool = tool_start("offcputime", "-U", "-f", "--comm", "napping", "--interval", "500ms");
	work_go(work);
	CHECK(proc_wait_for(work, "@crowd children "));
	n = (int)work_value(work->out, "crowd", "children");
	CHECK(n > 0);
	for (int s = 0; s < LIMIT_S && count_without(tool, n); s++)
		proc_linger(tool, 1000);
	work_do(work);
	tool_stop(tool);
	if (count_without(tool, n))
		UNIT_FAIL("%d of %d children without their functions", count_without(tool, n), n);
}

/*
 * Children come all the time, a few of them between the loader's look around and BPF's first event:
 * none in some beginnings. They go on to nap, as a busy tool may be late for their first ones.
 */
TEST_UNLESS(python_lacks, processes_that_are_forked_while_tracing_begins_have_them)
{
	const char *script = python_script("crowd.py", crowd);

	for (int i = 0; i < at_size(5, 1); i++)
		check_crowd(script);
}

static const char lost[] =
	"import os, signal, sys, time\n"
	"def late(end):\n"
	"    while time.process_time() < end:\n"
	"        sum(range(1000))\n"
	"def fork(function, *args):\n"
	"    child = os.fork()\n"
	"    if not child:\n"
	"        function(*args)\n"
	"        os._exit(0)\n"
	"    os.waitpid(child, 0)\n"
	"def find_tool():\n"
	"    for pid in os.listdir('/proc'):\n"
	"        try:\n"
	"            with open('/proc/%s/cmdline' % pid) as file:\n"
	"                words = file.read().split('\\0')\n"
	"        except OSError:\n"
	"            continue\n"
	"        if words[0].endswith('profile') and str(os.getpid()) in words:\n"
	"            return int(pid)\n"
	"print('@ready', flush=True)\n"
	"sys.stdin.buffer.read(1)\n"
	"tool = find_tool()\n"
	"os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])\n"
	"os.kill(tool, signal.SIGSTOP)\n"
	"os.system('i=0; while [ $i -lt 4000 ]; do (:); i=$((i + 1)); done')\n"
	"for i in range(2500):\n"
	"    fork(int)\n"
	"os.kill(tool, signal.SIGCONT)\n"
	"for i in range(6000):\n"
	"    fork(int)\n"
	"time.sleep(0.5)\n"
	"fork(late, 3)\n"
	"print('@done', flush=True)\n"
	"sys.stdin.buffer.read(1)\n";

/*
 * The tool is stopped until more events have come than are kept, and as many children of a Python
 * have begun and ended as there is room for. Once it goes on, they make room for others.
 */
TEST_UNLESS(python_lacks, processes_that_came_after_a_loss_of_events_have_them)
{
	struct proc *work = python_start(python_script("lost.py", lost), NULL);
	struct proc *tool = trace_pid(work, "profile", "-U", "-f", "-F", "997", "--follow");

	CHECK(strstr(tool->err, "some lost, rescanning"));
	CHECK(folded_sum(tool->out, NULL, "late (lost.py)") > 0);
}
