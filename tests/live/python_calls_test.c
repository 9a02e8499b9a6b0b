// SPDX-License-Identifier: GPL-2.0-only
/*
 * Frames of Python where nothing but calls, returns, generators, objects and exceptions happens, so
 * that samples hit all that lies between two states of the interpreter. Each stack has to be a path
 * of the call graph that is written into the program, each caller at a line that calls its callee.
 */
#include "python.h"

/* A program whose lines name the functions that they call. */
static const char program[] =
	"import re, sys, time\n"
	"def leaf(x):\n"
	"    return x + 1\n"
	"def twice(x):\n"
	"    return leaf(x) + leaf(x) # calls leaf\n"
	"def numbers(n):\n"
	"    for i in range(n):\n"
	"        yield leaf(i) # calls leaf\n"
	"def chained(n):\n"
	"    yield from numbers(n) # calls numbers\n"
	"class Pair:\n"
	"    def __init__(self, x):\n"
	"        self.x = leaf(x) # calls leaf\n"
	"    def __add__(self, other):\n"
	"        return Pair(self.x + other.x) # calls Pair.__init__\n"
	"    def __lt__(self, other):\n"
	"        return twice(self.x) < twice(other.x) # calls twice\n"
	"    @property\n"
	"    def value(self):\n"
	"        return leaf(self.x) # calls leaf\n"
	"def key(x):\n"
	"    return twice(-x) # calls twice\n"
	"def order():\n"
	"    sorted([3, 1, 2], key=key) # calls key\n"
	"    pairs = Pair(2), Pair(1) # calls Pair.__init__\n"
	"    return sorted(pairs) # calls Pair.__lt__\n"
	"def deep(n):\n"
	"    if n:\n"
	"        return deep(n - 1) # calls deep\n"
	"    return twice(1) # calls twice\n"
	"def throw(n):\n"
	"    if not n:\n"
	"        raise ValueError\n"
	"    throw(n - 1) # calls throw\n"
	"def catch():\n"
	"    try:\n"
	"        throw(5) # calls throw\n"
	"    except ValueError:\n"
	"        twice(1) # calls twice\n"
	"def enclosing(x):\n"
	"    def inner(y):\n"
	"        return leaf(x + y) # calls leaf\n"
	"    return inner(1) # calls enclosing.<locals>.inner\n"
	"def run(end):\n"
	"    while time.process_time() < end:\n"
	"        twice(1) # calls twice\n"
	"        for number in chained(10): # calls chained\n"
	"            leaf(number) # calls leaf\n"
	"        pair = Pair(1) + Pair(2) # calls Pair.__init__ Pair.__add__\n"
	"        pair.value # calls Pair.value\n"
	"        order() # calls order\n"
	"        deep(12) # calls deep\n"
	"        catch() # calls catch\n"
	"        enclosing(1) # calls enclosing\n"
	"calls = []\n"
	"for number, line in enumerate(open(__file__), 1):\n"
	"    found = re.search('# calls (.*)', line)\n"
	"    for name in found.group(1).split() if found else []:\n"
	"        if sys.version_info < (3, 11):\n"
	"            name = name.split('.')[-1]\n"
	"        calls.append('@call %d %s' % (number, name))\n"
	"print('@ready', flush=True)\n"
	"sys.stdin.buffer.read(1)\n"
	"run(time.process_time() + float(sys.argv[1])) # calls run\n"
	"print('\\n'.join(calls))\n"
	"print('@done', flush=True)\n"
	"sys.stdin.buffer.read(1)\n";

struct tally {
	uint64_t right, wrong, without;
};

/* "name (file:line)" as a caller, and the name of its callee. */
static bool is_call(const struct proc *work, const char *caller, const char *callee)
{
	const char *line = strchr(strstr(caller, ".py:"), ':') + 1;
	int length = (int)strcspn(callee, " ");

	return strstr(work->out, text_of("\n@call %d %.*s\n", atoi(line), length, callee));
}

/* NULL: all of it is; else the caller that doesn't call the next one, or the line. */
static const char *find_wrong_call(const struct proc *work, const char *line, bool *has_frames)
{
	const char *caller = NULL;

	*has_frames = false;
	for (const char *frame = line; *frame && *frame != '\n'; frame += *frame == ';') {
		if (python_frame(frame)) {
			if (caller ? !is_call(work, caller, frame)
				   : strncmp(frame, "<module> ", strlen("<module> ")) != 0)
				return caller ? caller : line;
			caller = frame;
			*has_frames = true;
		}
		frame += strcspn(frame, ";\n");
	}
	return NULL;
}

static struct tally judge(const struct proc *work, const struct proc *tool)
{
	struct tally tally = {};
	const char *end, *wrong;
	bool has_frames;

	for (const char *line = tool->out; *line; line = end + 1) {
		uint64_t value;

		end = strchr(line, '\n');
		value = strtoull((const char *)memrchr(line, ' ', (size_t)(end - line)), NULL, 10);
		wrong = find_wrong_call(work, line, &has_frames);
		if (wrong && !tally.wrong)
			printf("no call: %.100s\nof %.*s\n", wrong, (int)(end - line), line);
		if (wrong)
			tally.wrong += value;
		else if (has_frames)
			tally.right += value;
		else if (python_runs(line, end))
			tally.without += value;
	}
	printf("right %llu, wrong %llu, without Python frames %llu\n",
	       (unsigned long long)tally.right, (unsigned long long)tally.wrong,
	       (unsigned long long)tally.without);
	return tally;
}

TEST_UNLESS(python_lacks, each_caller_is_at_a_line_that_calls)
{
	const char *script = python_script("calls.py", program);
	struct proc *work = python_start(script, python_seconds());
	struct proc *tool = python_sample(work);
	struct tally tally = judge(work, tool);

	CHECK_EQ(tally.wrong, 0);
	CHECK(tally.right > (uint64_t)at_size(500, 20));
	CHECK(tally.without <= tally.right / 100);
}
