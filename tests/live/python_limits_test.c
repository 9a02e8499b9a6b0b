// SPDX-License-Identifier: GPL-2.0-only
/* Frames of Python where there are more of them, or longer names, than there is room for. */
#include "python.h"

static const char deep[] = "import sys, time\n"
			   "sys.setrecursionlimit(10000)\n"
			   "def spin(end):\n"
			   "    while time.process_time() < end:\n"
			   "        sum(range(1000))\n"
			   "def f(n, end):\n"
			   "    return f(n - 1, end) if n else spin(end)\n"
			   "if sys.version_info < (3, 11):\n"
			   "    print('@old')\n"
			   "print('@ready', flush=True)\n"
			   "sys.stdin.buffer.read(1)\n"
			   "f(int(sys.argv[1]), time.process_time() + 0.5)\n"
			   "print('@done', flush=True)\n"
			   "sys.stdin.buffer.read(1)\n";

/* Samples so many calls of f() in each other; lines: "--lines" or NULL. */
static struct proc *sample_deep(const char *n, const char *lines, bool *is_old)
{
	const char *script = python_script("deep.py", deep);
	struct proc *work = python_start(script, n);

	*is_old = strstr(work->out, "@old");
	return trace_pid(work, "profile", "-U", "-f", "-F", "997", lines);
}

/* The innermost ones are there, in the interpreter's place, and the stack counts as too deep. */
TEST_UNLESS(python_lacks, of_too_many_functions_the_innermost_are_there)
{
	static const struct {
		const char *calls, *lines;
		unsigned int least, most; /* frames of f(), each with a word or two */
	} cases[] = {
		{ "600", NULL, 601, 601 },
		{ "600", "--lines", 450, 512 },
		{ "1500", NULL, 900, 1024 },
		{ "3900", "--lines", 450, 512 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		bool is_old, is_whole = cases[i].least == cases[i].most;
		struct proc *tool = sample_deep(cases[i].calls, cases[i].lines, &is_old);
		const char *line = folded_find(tool->out, NULL, NULL);
		size_t n = count_in(line, ";f (deep.py");

		if (is_old)
			SKIP("before 3.11 native frames are the limit");
		if (n < cases[i].least || n > cases[i].most)
			UNIT_FAIL("%s calls: %zu frames in %.2000s", cases[i].calls, n, line);
		CHECK_EQ(count_in(line, ";spin (deep.py"), 1);
		CHECK_EQ(count_in(line, ";<module> (deep.py"), is_whole);
		CHECK_EQ(count_in(line, ";" EVALUATOR), 0);
		CHECK_EQ(strstr(tool->err, "too deep") != NULL, !is_whole);
	}
}

/* The location of the interpreter's call is unknown: no frame is better than a wrong one. */
TEST_UNLESS(python_lacks, of_more_than_4096_functions_in_a_row_none_is_there)
{
	struct proc *tool;
	bool is_old;

	tool = sample_deep("4500", NULL, &is_old);
	if (is_old)
		SKIP("before 3.11 native frames are the limit");
	CHECK_LACKS(tool->out, ";spin (deep.py)");
	CHECK(strstr(tool->err, "too deep"));
}

static const char paths[] = "import sys, time\n"
			    "source = '''\n"
			    "def busy_%d(end):\n"
			    "    while time.process_time() < end:\n"
			    "        sum(range(1000))\n"
			    "busy_%d(time.process_time() + 0.2)\n"
			    "'''\n"
			    "print('@ready', flush=True)\n"
			    "sys.stdin.buffer.read(1)\n"
			    "for n in [int(n) for n in sys.argv[1:]]:\n"
			    "    path = 'x' * (n - len('/handlers.py')) + '/handlers.py'\n"
			    "    exec(compile(source % (n, n), path, 'exec'))\n"
			    "print('@done', flush=True)\n"
			    "sys.stdin.buffer.read(1)\n";

TEST_UNLESS(python_lacks, of_a_long_path_the_end_is_kept)
{
	static const char *const lengths[] = { "251", "252", "253", "254", "255",
					       "256", "257", "258", "259" };
	const char *script = python_script("paths.py", paths);
	struct proc *work =
		python_start(script, lengths[0], lengths[1], lengths[2], lengths[3], lengths[4],
			     lengths[5], lengths[6], lengths[7], lengths[8]);
	struct proc *tool = trace_pid(work, "profile", "-U", "-f", "-F", "997");

	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++)
		if (!folded_count(tool->out, NULL, text_of("busy_%s (handlers.py)", lengths[i])))
			UNIT_FAIL("of %s characters: %.300s", lengths[i], tool->out);
}
