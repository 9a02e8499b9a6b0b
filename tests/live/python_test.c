// SPDX-License-Identifier: GPL-2.0-only
/*
 * Frames of Python's functions. The program that is traced takes down each stack in which it spends
 * time, with lines, and prints them when it is done: what a tool says has to be one of these.
 */
#include <ctype.h>
#include <glob.h>

#include "python.h"

/*
 * spin() and nap() are where time is spent. Their callers are generators, callbacks of functions in
 * C, methods, closures, constructors, threads, and functions that are made again and again.
 */
static const char program[] =
	"import functools, os, re, sys, threading, time\n"
	"is_old = sys.version_info < (3, 11)\n"
	"name = 'co_name' if is_old else 'co_qualname'\n"
	"paths = set()\n"
	"def record():\n"
	"    frame, path = sys._getframe(2), []\n"
	"    while frame:\n"
	"        code = frame.f_code\n"
	"        path.append('%s (%s:%d)' % (getattr(code, name), "
	"code.co_filename.split('/')[-1], frame.f_lineno))\n"
	"        frame = frame.f_back\n"
	"    paths.add(';'.join(reversed(path)))\n"
	"def spin(n=2000):\n"
	"    record()\n"
	"    total = 0\n"
	"    for i in range(n):\n"
	"        total += i * i\n"
	"    return total\n"
	"def nap():\n"
	"    record()\n"
	"    time.sleep(0.002)\n"
	"def deep(n):\n"
	"    return deep(n - 1) if n else spin()\n"
	"def numbers(n):\n"
	"    for i in range(n):\n"
	"        spin()\n"
	"        yield i\n"
	"def chained(n):\n"
	"    yield from numbers(n)\n"
	"def key(x):\n"
	"    spin()\n"
	"    return -x\n"
	"class Thing:\n"
	"    def __init__(self, n):\n"
	"        self.n = n\n"
	"        spin()\n"
	"    def __lt__(self, other):\n"
	"        spin()\n"
	"        return self.n < other.n\n"
	"    @property\n"
	"    def value(self):\n"
	"        return [spin() for _ in range(2)]\n"
	"def wrap(function):\n"
	"    @functools.wraps(function)\n"
	"    def wrapper(*args):\n"
	"        spin()\n"
	"        return function(*args)\n"
	"    return wrapper\n"
	"@wrap\n"
	"def wrapped():\n"
	"    try:\n"
	"        raise ValueError(spin())\n"
	"    except ValueError:\n"
	"        return spin()\n"
	"def made(i):\n"
	"    names = {'spin': spin}\n"
	"    text = 'def made_%d():\\n%s    return spin(300)\\n' % (i, '    pass\\n' * (i % 7))\n"
	"    exec(compile(text, 'made.py', 'exec'), names)\n"
	"    return names['made_%d' % i]()\n"
	"kept = []\n"
	"def grow():\n"
	"    kept.append(bytearray(300000))\n"
	"    if len(kept) > 30:\n"
	"        del kept[:15]\n"
	"def scenes():\n"
	"    grow()\n"
	"    spin()\n"
	"    deep(30)\n"
	"    sum(chained(3))\n"
	"    sorted(range(4), key=key)\n"
	"    sorted([Thing(2), Thing(1)])\n"
	"    Thing(3).value\n"
	"    wrapped()\n"
	"    re.sub('a', lambda m: str(spin()), 'aa')\n"
	"    list(map(lambda x: spin(), range(2)))\n"
	"    for i in range(20):\n"
	"        made(i)\n"
	"    nap()\n"
	"    deep(100 if is_old else 300)\n"
	"print('@ready', flush=True)\n"
	"sys.stdin.buffer.read(1)\n"
	"end = time.process_time() + float(sys.argv[1])\n"
	"def until_end():\n"
	"    while time.process_time() < end:\n"
	"        scenes()\n"
	"child = os.fork() if len(sys.argv) > 2 else -1\n"
	"threads = [threading.Thread(target=until_end) for _ in range(2 if child else 0)]\n"
	"for thread in threads:\n"
	"    thread.start()\n"
	"until_end()\n"
	"if not child:\n"
	"    os._exit(0)\n"
	"if child > 0:\n"
	"    os.waitpid(child, 0)\n"
	"for thread in threads:\n"
	"    thread.join()\n"
	"print('\\n'.join('@path ' + path for path in paths))\n"
	"print('@done', flush=True)\n"
	"sys.stdin.buffer.read(1)\n";

/*
 * The interpreter's own function has that name in the system's Python; where each instruction of
 * byte code has a function of its own (3.14, --with-tail-call-interp), others are seen.
 */
#define CHECK_INTERPRETER(tool)                                   \
	CHECK(getenv("TRACELETS_PYTHON") ? (tool)->out[0] != '\0' \
					 : lines_with((tool)->out, EVALUATOR))

/* extra: its child does the same; or NULL. */
static struct proc *start_python(const char *seconds, const char *extra)
{
	return python_start(python_script("scenes.py", program), seconds, extra);
}

/* ---- what a tool says ---- */

struct tally {
	uint64_t right, wrong, elsewhere, without;
	uint64_t outside; /* no function of Python runs: a thread begins or ends */
};

/*
 * Leaves of each line a thread's name and its frames in Python: before 3.11 there are others
 * between them, of calls in C.
 */
static const char *leave_python(char *out)
{
	char *to = out;

	for (const char *line = out, *end; *line; line = end) {
		const char *value, *frame = line + strcspn(line, ";\n");

		end = strchr(line, '\n') + 1;
		value = memrchr(line, ' ', (size_t)(end - line));
		to = (char *)memmove(to, line, (size_t)(frame - line)) + (frame - line);
		for (; frame < value; frame += 1 + strcspn(frame + 1, ";\n")) {
			size_t length = python_frame(frame + 1);

			if (length)
				to = (char *)memmove(to, frame, length + 1) + length + 1;
		}
		to = (char *)memmove(to, value, (size_t)(end - value)) + (end - value);
	}
	*to = '\0';
	return out;
}

/* The Python frames of a line but the innermost, which is `leaf`: those are a path. */
static void take_path(const char *line, char *path, size_t size, const char **leaf)
{
	size_t used = 0;

	*leaf = NULL;
	*path = '\0';
	for (const char *frame = line; *frame && *frame != '\n';) {
		size_t length = python_frame(frame);

		if (length && *leaf)
			used += (size_t)snprintf(path + used, used < size ? size - used : 0,
						 "%s%.*s", used ? ";" : "",
						 (int)python_frame(*leaf), *leaf);
		if (length)
			*leaf = frame;
		frame += strcspn(frame, ";\n");
		frame += *frame == ';';
	}
}

/*
 * Returns true if a path of the program, which ends with its line, is that of a stack. Functions of
 * Python's own threads may lack their file, if that was not in memory just then.
 */
static bool is_same_path(const char *known, const char *path)
{
	while (*known != '\n') {
		size_t n = strcspn(known, ";\n");

		if (!strncmp(known, path, n) && (!path[n] || path[n] == ';'))
			path += n + (path[n] == ';');
		else if (!memmem(known, n, " (threading.py:", strlen(" (threading.py:")))
			return false;
		known += n + (known[n] == ';');
	}
	return !*path;
}

static bool is_known_path(const struct proc *work, const char *path)
{
	static const char start[] = "\n@path ";

	for (const char *at = work->out; (at = strstr(at, start));) {
		at += strlen(start);
		if (is_same_path(at, path))
			return true;
	}
	return false;
}

/* Memory of calls outside couldn't be read just then: they are there as native frames. */
static bool lacks_outer_part(const struct proc *work, const char *path, const char *line,
			     const char *end)
{
	const char *inner = text_of(";%s\n", path);

	return *path && python_runs(line, end) && strstr(work->out, inner);
}

static void judge(const struct proc *work, const char *line, struct tally *tally)
{
	static char path[1 << 16];
	const char *leaf, *end = strchr(line, '\n');
	uint64_t value;

	while (isdigit((unsigned char)end[-1]))
		end--;
	value = strtoull(end, NULL, 10);
	take_path(line, path, sizeof(path), &leaf);
	if (!leaf && !python_runs(line, end)) {
		tally->outside += value;
	} else if (!leaf || lacks_outer_part(work, path, line, end)) {
		tally->without += value;
	} else if (strncmp(leaf, "spin (", 6) && strncmp(leaf, "nap (", 5)) {
		tally->elsewhere += value;
	} else if (is_known_path(work, path)) {
		tally->right += value;
	} else {
		if (!tally->wrong)
			printf("not a stack of the program: %.600s, of %.2000s\n", path, line);
		tally->wrong += value;
	}
}

static struct tally judge_all(const struct proc *work, const struct proc *tool)
{
	struct tally tally = {};

	for (const char *line = tool->out; *line; line = strchr(line, '\n') + 1)
		judge(work, line, &tally);
	printf("right %llu, wrong %llu, elsewhere %llu, without Python frames %llu, outside %llu\n",
	       (unsigned long long)tally.right, (unsigned long long)tally.wrong,
	       (unsigned long long)tally.elsewhere, (unsigned long long)tally.without,
	       (unsigned long long)tally.outside);
	return tally;
}

static void check_absent(const struct tally *tally)
{
	uint64_t seen = tally->right + tally->elsewhere;

	CHECK(tally->without <= seen / 100);
	CHECK(tally->outside <= seen / 4);
}

/* For a second, without lines. The words after the name: other options, or NULL. */
static struct proc *trace_scenes(const char *name, const char *option, const char *value,
				 const char *last)
{
	return trace_pid(start_python("1", NULL), name, "-U", "-f", option, value, last);
}

TEST_UNLESS(python_lacks, each_sample_is_a_stack_of_the_program)
{
	struct proc *work = start_python(python_seconds(), NULL);
	struct proc *tool = python_sample(work);
	struct tally tally = judge_all(work, tool);

	CHECK_EQ(tally.wrong, 0);
	CHECK(tally.right > (uint64_t)at_size(500, 20));
	check_absent(&tally);
}

TEST_UNLESS(python_lacks, each_wait_is_a_stack_of_the_program)
{
	struct proc *work = start_python("2", NULL);
	struct proc *tool = trace_pid(work, "offcputime", "-U", "-f", "--lines");
	struct tally tally = judge_all(work, tool);

	CHECK_EQ(tally.wrong, 0);
	CHECK(tally.right > 0);
	CHECK(lines_with(tool->out, "clock_nanosleep") > 0 ||
	      lines_with(tool->out, ";select") > 0); /* time.sleep() before 3.11 */
}

/* The loader walks the stacks of threads that were blocked when tracing began. */
TEST_UNLESS(python_lacks, a_wait_from_before_has_its_frames)
{
	struct proc *work = start_python("0", NULL);
	struct proc *tool = tool_run_on(work, "offcputime", "-U", "-f", "--lines", "300ms");
	const char *line = folded_find(tool->out, NULL, "[blocked throughout]");

	CHECK(strstr(line, ";<module> (scenes.py:"));
	CHECK_EQ(lines_with(tool->out, EVALUATOR), 0);
}

/* Its frames and functions are its parent's, without an exec. */
TEST_UNLESS(python_lacks, a_forked_process_has_them)
{
	struct proc *work = start_python("2", "fork");
	struct proc *tool =
		trace_pid(work, "profile", "-U", "-f", "--lines", "-F", "997", "--follow");
	struct tally tally = judge_all(work, tool);

	CHECK_EQ(tally.wrong, 0);
	CHECK(tally.right > (uint64_t)at_size(200, 10));
	check_absent(&tally);
}

/* It has the interpreter's lock whenever it is looked at, or only then when it sleeps. */
TEST_UNLESS(python_lacks, a_lone_thread_has_them)
{
	static const char *const tools[][3] = { { "profile", "-F", "997" },
						{ "offcputime", "-m", "1" } };
	const char *script = python_script("lone.py", "import time\n"
						      "def busy(end):\n"
						      "    while time.process_time() < end:\n"
						      "        sum(range(1000))\n"
						      "def work():\n"
						      "    for i in range(50):\n"
						      "        busy(time.process_time() + 0.02)\n"
						      "        time.sleep(0.005)\n"
						      "work()\n");

	for (size_t i = 0; i < 2; i++) {
		struct proc *tool = tool_run(tools[i][0], "-U", "-f", tools[i][1], tools[i][2],
					     "--", python_path(), script);

		CHECK(folded_count(leave_python(tool->out), NULL,
				   i ? "<module> (lone.py);work (lone.py)"
				     : "work (lone.py);busy (lone.py)") > 0);
	}
}

/*
 * Functions of a second interpreter, which a function of the main one runs: the thread has a state
 * in each. Its file is <string>, or <script> since 3.14. The first call waits for a byte. Before
 * 3.11 such a thread shows no functions.
 */
static const char interpreters[] = "import sys, time\n"
				   "def find():\n"
				   "    try:\n"
				   "        import _interpreters as interpreters\n"
				   "    except ImportError:\n"
				   "        import _xxsubinterpreters as interpreters\n"
				   "    return interpreters\n"
				   "try:\n"
				   "    if sys.version_info < (3, 11):\n"
				   "        raise ImportError\n"
				   "    interpreters = find()\n"
				   "except ImportError:\n"
				   "    print('@none\\n@ready', flush=True)\n"
				   "    time.sleep(100)\n"
				   "sub = interpreters.create()\n"
				   "interpreters.run_string(sub, \"\"\"\n"
				   "import os, time\n"
				   "def nap():\n"
				   "    time.sleep(0.002)\n"
				   "def in_sub(is_first):\n"
				   "    if is_first:\n"
				   "        os.write(1, b'@ready\\\\n')\n"
				   "        os.read(0, 1)\n"
				   "    end = time.process_time() + 0.005\n"
				   "    while time.process_time() < end:\n"
				   "        pass\n"
				   "    nap()\n"
				   "\"\"\")\n"
				   "def inner(is_first):\n"
				   "    interpreters.run_string(sub, 'in_sub(%s)' % is_first)\n"
				   "def outer(is_first):\n"
				   "    sorted([1], key=lambda x: inner(is_first))\n"
				   "outer(True)\n"
				   "end = time.process_time() + 1\n"
				   "while time.process_time() < end:\n"
				   "    outer(False)\n"
				   "print('@done', flush=True)\n"
				   "sys.stdin.buffer.read(1)\n";

/* The line's frames lead through these, in that order, with others between them or none. */
static bool leads_through(const char *line, const char *const names[])
{
	const char *end = strchr(line, '\n');

	for (; *names && line; names++)
		line = memmem(line, (size_t)(end - line), *names, strlen(*names));
	return line;
}

/* There are stacks with that function, and nearly all of them lead through both interpreters. */
static void check_both(const struct proc *tool, const char *function)
{
	const char *const whole[] = { ";<module> (subs.py);outer (subs.py);",
				      "<lambda> (subs.py);inner (subs.py);",
				      ";PyEval_EvalCode;<module> (<",
				      ">);in_sub (<",
				      function,
				      NULL };
	uint64_t all = 0, cut = 0;

	for (const char *line = tool->out; *line; line = strchr(line, '\n') + 1) {
		uint64_t value = strtoull(
			strrchr(text_of("%.*s", (int)strcspn(line, "\n"), line), ' '), NULL, 10);

		if (!leads_through(line, ARGV(function)))
			continue;
		if (leads_through(line, ARGV("outer (subs.py);outer.<locals>")))
			UNIT_FAIL("not whole: %.*s", (int)strcspn(line, "\n"), line);
		all += value;
		cut += leads_through(line, whole) ? 0 : value;
	}
	CHECK(all > 0);
	if (cut * 20 > all)
		UNIT_FAIL("%llu of %llu are not whole: %s", (unsigned long long)cut,
			  (unsigned long long)all, tool->out);
}

static struct proc *start_interpreters(void)
{
	return python_start(python_script("subs.py", interpreters), NULL);
}

TEST_UNLESS(python_lacks, functions_of_all_interpreters_have_them)
{
	struct proc *work = start_interpreters(), *tool;

	if (strstr(work->out, "@none"))
		SKIP("this Python has no module of interpreters, or is too old");
	tool = tool_run("offcputime", "-U", "-f", "-p", pid_text(work->pid), "300ms");
	CHECK_STATUS(tool, 0);
	check_both(tool, "[blocked throughout]");
	check_both(trace_pid(work, "profile", "-U", "-f", "-F", "997"), "in_sub (<");
	work = start_interpreters();
	check_both(trace_pid(work, "offcputime", "-U", "-f"), "nap (<");
}

/* Memory takes the place of code, which the kernel has no event for. */
TEST_UNLESS(python_lacks, nothing_is_missing_once_memory_is_where_code_was)
{
	const char *script =
		python_script("hole.py", "import _ctypes, ctypes, glob, mmap, time\n"
					 "def load():\n"
					 "    lib = glob.glob('/usr/lib/*/libsqlite3.so.0')[0]\n"
					 "    lib = ctypes.CDLL(lib)\n"
					 "    time.sleep(0.3)\n"
					 "    _ctypes.dlclose(lib._handle)\n"
					 "def work():\n"
					 "    for i in range(50):\n"
					 "        time.sleep(0.005)\n"
					 "load()\n"
					 "maps = [mmap.mmap(-1, 300 << 10) for i in range(64)]\n"
					 "work()\n");
	struct proc *tool;
	glob_t libraries;

	if (glob("/usr/lib/*/libsqlite3.so.0", 0, NULL, &libraries))
		SKIP("no libsqlite3");
	globfree(&libraries);
	tool = tool_run("offcputime", "-U", "-f", "-m", "1", "--", python_path(), script);
	CHECK(folded_sum(leave_python(tool->out), NULL, "<module> (hole.py);work (hole.py)") >=
	      50 * 5000 / 2);
}

static void await_programs(struct proc *tool)
{
	for (int s = 0; s < 120 && !strstr(tool->err, "its BPF programs are loaded"); s++)
		proc_linger(tool, 1000);
}

/*
 * The loader has to find Python in each of them before it is done. The first one may be missed: the
 * programs that walk its stacks are loaded for it.
 */
TEST_UNLESS(python_lacks, scripts_of_some_milliseconds_have_them)
{
	static const char runs[] = "echo @ready; head -c 1 >/dev/null; \"$0\" \"$1\"; "
				   "head -c 1 >/dev/null; n=0; "
				   "while [ $n -lt \"$2\" ]; do n=$((n + 1)); \"$0\" \"$1\"; done; "
				   "echo @done; head -c 1 >/dev/null";
	const char *script = python_script("brief.py", "import sys, time\n"
						       "def busy(end):\n"
						       "    while time.process_time() < end:\n"
						       "        sum(range(100))\n"
						       "busy(time.process_time() + 0.02)\n");
	struct proc *work, *tool;
	double share;

	work = work_start_in(NULL, NULL, "/bin/sh",
			     ARGV("sh", "-c", runs, python_path(), script,
				  text_of("%d", at_size(97, 11))));
	tool = tool_start_on(work, "profile", "-v", "-U", "-f", "-F", "997", "--follow");
	work_go(work);
	await_programs(tool);
	work_do(work);
	tool_stop(tool);
	share = python_share(tool);
	if (share < 80)
		UNIT_FAIL("%.2f %% have their functions: %.3000s", share, tool->out);
}

/* The programs that walk its stacks are loaded while the tool runs. */
static void trace_later_python(const char *name, const char *option, const char *value)
{
	static const char later[] = "echo @ready; head -c 1 >/dev/null; exec \"$0\" \"$@\"";
	const char *script = python_script("later.py", "import mmap, time\n"
						       "def busy():\n"
						       "    while True:\n"
						       "        for _ in range(100):\n"
						       "            mmap.mmap(-1, 4096)[0] = 1\n"
						       "            time.sleep(0.001)\n"
						       "        print('@rounds', flush=True)\n"
						       "busy()\n");
	struct proc *work, *tool;

	work = work_start_in(NULL, NULL, "/bin/sh", ARGV("sh", "-c", later, python_path(), script));
	tool = tool_start_on(work, name, "-v", "-U", "-f", option, value);
	work_go(work);
	await_programs(tool);
	proc_linger(work, 1);
	wait_for_lines(work, "@rounds", lines_with(work->out, "@rounds") + 15);
	tool_stop(tool);
	if (!folded_count(leave_python(tool->out), NULL, "<module> (later.py);busy (later.py)"))
		UNIT_FAIL("%s: no functions: %.3000s", name, tool->out);
	CHECK_LACKS(tool->err, "too late");
	proc_kill(work);
}

/* Python begins while the tool prepares: before or after it has looked for runtimes. */
TEST_UNLESS(python_lacks, a_program_that_becomes_python_before_the_attach_has_them)
{
	static const char soon[] =
		"echo @ready; head -c 1 >/dev/null; sleep $2; exec \"$0\" \"$1\"";
	static const char *const delays[] = { "0.02", "0.05", "0.08", "0.11" };
	const char *script = python_script("soon.py", "import time\n"
						      "def rest():\n"
						      "    while True:\n"
						      "        time.sleep(0.001)\n"
						      "rest()\n");

	for (size_t i = 0; i < ARRAY_SIZE(delays); i++) {
		struct proc *work =
			work_start_in(NULL, NULL, "/bin/sh",
				      ARGV("sh", "-c", soon, python_path(), script, delays[i]));
		struct proc *tool;

		work_go(work);
		tool = tool_launch_in(NULL, NULL,
				      ARGV("offcputime", "-U", "-f", "--interval", "1", "-p",
					   pid_text(work->pid)));
		for (int s = 0; s < 60 && !strstr(tool->out, ";rest (soon.py)"); s++)
			proc_linger(tool, 1000);
		tool_stop(tool);
		CHECK_HAS(leave_python(tool->out), "<module> (soon.py);rest (soon.py)");
		proc_kill(work);
	}
}

TEST_UNLESS(python_lacks, a_program_that_becomes_python_later_has_them)
{
	trace_later_python("profile", "-F", "997");
	trace_later_python("profile", "--wall", NULL);
	trace_later_python("offcputime", NULL, NULL);
	trace_later_python("pagefaults", NULL, NULL);
}

TEST_UNLESS(python_lacks, without_lines_frames_have_their_file)
{
	struct proc *tool = trace_scenes("profile", "-F", "997", NULL);

	CHECK_LACKS(tool->out, ".py:");
	leave_python(tool->out);
	CHECK(folded_count(tool->out, NULL, "scenes (scenes.py);spin (scenes.py)") > 0);
	CHECK(folded_count(tool->out, NULL, "until_end (scenes.py);scenes (scenes.py)") > 0);
}

TEST_UNLESS(python_lacks, stacks_of_memory_have_them)
{
	static const char *const tools[][3] = { { "memleak", "--older", "0" },
						{ "pagefaults", "--unwind", "auto" } };

	for (size_t i = memleak_lacks() ? 1 : 0; i < 2; i++) {
		const char *const *words = tools[i];
		struct proc *tool = trace_scenes(words[0], words[1], words[2], NULL);

		CHECK(folded_count(leave_python(tool->out), NULL,
				   "scenes (scenes.py);grow (scenes.py)") > 0);
		tool = trace_scenes(words[0], words[1], words[2], "--no-python");
		CHECK_INTERPRETER(tool);
		CHECK_LACKS(tool->out, ".py)");
	}
}

TEST_UNLESS(python_lacks, who_wants_none_has_the_interpreters_functions)
{
	static const char *const options[][3] = { { "profile", "--no-python" },
						  { "offcputime", "--no-python" },
						  { "profile", "--unwind", "fp" } };

	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		struct proc *tool = trace_scenes(options[i][0], options[i][1], options[i][2], NULL);

		CHECK_LACKS(tool->out, ".py");
		if (!options[i][2])
			CHECK_INTERPRETER(tool);
	}
}
