// SPDX-License-Identifier: GPL-2.0-only
/*
 * Functions of JavaScript, with node's default flags: named on and off CPU, in workers, from a
 * program's first millisecond, and in threads that are blocked throughout. The program's calls are
 * always the same, so that each stack is known.
 */
#include "live.h"

#define NODE "/usr/bin/node"

/*
 * Time is spent in compare(), which a builtin calls, so that it is not inlined. Its callers may be:
 * they have one call each, whose lines the tests know. Where the machine is busy, a nap may be
 * over as it begins.
 */
static const char program[] = "const { Worker, isMainThread } = require('node:worker_threads');\n"
			      "const fs = require('node:fs');\n"
			      "const cell = new Int32Array(new SharedArrayBuffer(4));\n"
			      "function compare(x, y) {\n"
			      "  let z = x | 1;\n"
			      "  for (let i = 0; i < 2000; i++)\n"
			      "    z = (z * 1664525 + 1013904223) & 0x7fffffff;\n"
			      "  return x - y + (z & 0);\n"
			      "}\n"
			      "function spin(values) {\n"
			      "  return values.sort(compare);\n" /* line 11 */
			      "}\n"
			      "class Shape {\n"
			      "  constructor(n) { this.n = n; }\n"
			      "  area(k) {\n"
			      "    return spin([this.n, k, 3, 2])[0];\n" /* line 16 */
			      "  }\n"
			      "}\n"
			      "const by_arrow = (n) => {\n"
			      "  return new Shape(n).area(3) + 1;\n" /* line 20 */
			      "};\n"
			      "function nap_inner(ms) { Atomics.wait(cell, 0, 0, ms); }\n"
			      "function nap_outer(ms) { nap_inner(ms); }\n"
			      "function work_for(seconds) {\n"
			      "  const end = process.cpuUsage().user + seconds * 1e6;\n"
			      "  for (let n = 0; n < 5 || process.cpuUsage().user < end; n++) {\n"
			      "    for (let i = 0; i < 100; i++)\n"
			      "      by_arrow(n + i);\n" /* line 28 */
			      "    nap_outer(2);\n"
			      "  }\n"
			      "}\n"
			      "if (!isMainThread)\n"
			      "  nap_outer(1e9);\n"
			      "const style = process.argv[3];\n"
			      "if (style === 'worker')\n"
			      "  new Worker(__filename);\n"
			      "const wait = () => fs.readSync(0, Buffer.alloc(1), 0, 1, null);\n"
			      "if (style !== 'now') {\n"
			      "  fs.writeSync(1, '@ready\\n');\n"
			      "  wait();\n"
			      "}\n"
			      "work_for(+process.argv[2]);\n"
			      "fs.writeSync(1, '@done\\n');\n"
			      "if (style !== 'now')\n"
			      "  wait();\n"
			      "process.exit(0);\n";

static const char *lacks_node(void)
{
	return access(NODE, X_OK) ? "needs package nodejs" : NULL;
}

static const char *script(void)
{
	const char *path = text_of("%s/%s", folder_make(), "shapes.js");

	CHECK(file_write(path, program));
	return path;
}

static struct proc *start(const char *seconds, const char *style)
{
	return work_start_in(NULL, NULL, NODE, ARGV("node", script(), seconds, style));
}

/* Returns the beginning of the frame before `at`, which is a separator. */
static const char *frame_before(const char *out, const char *at)
{
	while (at > out && at[-1] != ';' && at[-1] != '\n')
		at--;
	return at;
}

/*
 * Checks that a function is there, and that its caller is nearly always the right one, by the names
 * alone. line: of the call, which may be unknown; NULL: lines were not requested.
 */
static void check_caller(const char *out, const char *function, const char *caller,
			 const char *line)
{
	const char *frame = text_of(";%s (shapes.js", function);
	const char *named = text_of("%s (shapes.js)", caller);
	const char *lined = text_of("%s (shapes.js:%s)", caller, line ? line : "");

	size_t n_all = 0, n_wrong = 0;

	CHECK_HAS(out, frame);
	if (line)
		CHECK_HAS(out, lined);
	for (const char *at = out; (at = strstr(at, frame)); at++) {
		const char *before = frame_before(out, at);
		size_t n = (size_t)(at - before);

		n_all++;
		if ((n == strlen(named) && !strncmp(before, named, n)) ||
		    (line && n == strlen(lined) && !strncmp(before, lined, n)))
			continue;
		printf("%.*s calls %s\n", (int)n, before, function);
		n_wrong++;
	}
	if (n_wrong * 50 > n_all + 50)
		UNIT_FAIL("%zu of %zu callers of %s are wrong", n_wrong, n_all, function);
}

TEST_UNLESS(lacks_node, functions_have_names_and_lines_inlined_ones_too)
{
	struct proc *work = start(at_size(2, 1) == 2 ? "2" : "1", "twice"), *tool;

	tool = trace_pid(work, "profile", "-U", "-f", "--lines", "-F", "997");
	check_caller(tool->out, "spin", "area", "16");
	check_caller(tool->out, "area", "by_arrow", "20");
	check_caller(tool->out, "by_arrow", "work_for", "28");
	CHECK_HAS(tool->out, ";spin (shapes.js:11);sort");
	CHECK_HAS(tool->out, ";compare (shapes.js");
	CHECK_HAS(tool->out, " (node:internal/modules/cjs/loader:");
	CHECK_LACKS(tool->err, "--perf-basic-prof");
}

TEST_UNLESS(lacks_node, waits_have_functions)
{
	struct proc *work = start("1", "twice"), *tool;

	tool = trace_pid(work, "offcputime", "-U", "-f");
	check_caller(tool->out, "nap_inner", "nap_outer", NULL);
	check_caller(tool->out, "nap_outer", "work_for", NULL);
}

/* The worker waits before the tool starts, and goes on to wait: its stack is read from outside. */
TEST_UNLESS(lacks_node, threads_that_are_blocked_throughout_have_functions)
{
	struct proc *work = start("1", "worker"), *tool;

	wait_until_blocked(work->pid);
	tool = tool_run_on(work, "offcputime", "-U", "-f", "300ms");
	check_caller(tool->out, "nap_inner", "nap_outer", NULL);
}

TEST_UNLESS(lacks_node, a_command_has_functions_from_its_first_millisecond)
{
	struct proc *tool =
		tool_run("profile", "-U", "-f", "-F", "997", "--", NODE, script(), "1", "now");

	check_caller(tool->out, "spin", "area", NULL);
	CHECK_HAS(tool->out, ";compare (shapes.js");
	CHECK_HAS(tool->out, " (node:internal/modules/cjs/loader)");
}

#define LAST_ID "/proc/sys/kernel/ns_last_pid"

static const char *lacks_ids(void)
{
	return access(LAST_ID, W_OK) ? "needs a writable " LAST_ID : lacks_node();
}

/* A worker waits in early(). Later ones start until one has its id: that one waits in later(). */
static const char workers[] =
	"const { Worker } = require('node:worker_threads');\n"
	"const run = (name, wanted) => new Promise((done) => {\n"
	"  let id;\n"
	"  new Worker(`\n"
	"    const id = +require('fs').readlinkSync('/proc/thread-self').split('/').pop();\n"
	"    const cell = new Int32Array(new SharedArrayBuffer(4));\n"
	"    function ${name}(ms) { Atomics.wait(cell, 0, 0, ms); }\n"
	"    for (let i = 0; i < 40 && (!${wanted} || id === ${wanted}); i++)\n"
	"      ${name}(5);\n"
	"    require('worker_threads').parentPort.postMessage(id);\n"
	"  `, { eval: true }).on('message', (n) => id = n).on('exit', () => done(id));\n"
	"});\n"
	"(async () => {\n"
	"  const fs = require('fs'), first = await run('early', 0);\n"
	"  const last = fs.readFileSync('" LAST_ID "');\n"
	"  for (let i = 0, id = 0; i < 100 && id !== first; i++) {\n"
	"    fs.writeFileSync('" LAST_ID "', String(first - 1));\n"
	"    id = await run('later', first);\n"
	"  }\n"
	"  fs.writeFileSync('" LAST_ID "', last);\n"
	"})();\n";

/* The numbers of scripts and functions begin again in each worker. */
TEST_UNLESS(lacks_ids, a_thread_with_the_id_of_an_earlier_one_has_its_own_functions)
{
	const char *path = text_of("%s/%s", folder_make(), "workers.js");
	struct proc *tool;

	CHECK(file_write(path, workers));
	tool = tool_run("offcputime", "-U", "-f", "--", NODE, path);
	CHECK_HAS(tool->out, ";early (");
	CHECK_HAS(tool->out, ";later (");
}

/* Frames and functions with their lines need more words than a stack has. */
TEST_UNLESS(lacks_node, a_stack_whose_functions_do_not_fit_is_too_deep)
{
	const char *path = text_of("%s/%s", folder_make(), "deep.js");
	struct proc *work, *tool;

	CHECK(file_write(path, "function down(n)\n"
			       "{\n"
			       "	if (n)\n"
			       "		return down(n - 1) + 1;\n"
			       "	require('fs').writeSync(1, '@ready\\n');\n"
			       "	require('fs').readSync(0, Buffer.alloc(1), 0, 1, null);\n"
			       "	for (;;)\n"
			       "		;\n"
			       "}\n"
			       "down(420);\n"));
	work = work_start_in(NULL, NULL, NODE, ARGV("node", "--jitless", path));
	work_go(work);
	tool = tool_run_on(work, "profile", "-U", "-f", "--lines", "-F", "97", "2");
	CHECK_HAS(tool->err, "too deep");
}
