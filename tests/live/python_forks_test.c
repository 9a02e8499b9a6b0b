// SPDX-License-Identifier: GPL-2.0-only
/* Frames of Python in processes that were forked: a child has in BPF what its parent had then. */
#include "python.h"

static const char *write_script(const char *name, const char *text)
{
	const char *script = text_of("%s/%s", folder_make(), name);

	CHECK(file_write(script, text));
	return script;
}

static const char lost[] = "import os, signal, sys, time\n"
			   "def late(end):\n"
			   "    while time.monotonic() < end:\n"
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
			   "        if str(os.getpid()) in words:\n"
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
			   "fork(late, time.monotonic() + 1)\n"
			   "print('@done', flush=True)\n"
			   "sys.stdin.buffer.read(1)\n";

/*
 * The tool is stopped until more events have come than are kept, and as many children of a Python
 * have begun and ended as there is room for. Once it goes on, they make room for others.
 */
TEST(processes_that_came_after_a_loss_of_events_have_them)
{
	struct proc *work, *tool;

	NEEDS_PYTHON();
	work = work_start_in(NULL, NULL, python_path(),
			     ARGV("python3", write_script("lost.py", lost)));
	tool = trace_work(work, ARGV("profile", "-U", "-f", "-F", "997", "--follow", "-p",
				     pid_text(work->pid)));
	CHECK(strstr(tool->err, "events were lost"));
	CHECK(folded_sum(tool->out, NULL, "late (lost.py)") > 100);
}
