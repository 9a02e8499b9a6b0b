// SPDX-License-Identifier: GPL-2.0-only
/*
 * memleak, live: what it says is held against what the workload "leaky" has taken and kept, block
 * by block and byte by byte.
 */
#include <inttypes.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "run/features.h"
#include "../work/leaky.h"
#include "live.h"

/* One report, at the end. */
#define TEXT	   "--format=text", "-T", "1000", "--interval=1h"
#define NEEDS_5_12 "needs Linux 5.12"

#define EVER_NEW_KB 40960

/* A window may be open. */
#define FEW_LINKS 4
#define WAIT_S	  120

#define ALL_STACKS "100.00 % complete"

/* ---- the text of a report ---- */

struct held {
	uint64_t bytes, blocks;
};

/* Adds up what stands over the stacks that have a frame of that name; NULL: all stacks. */
static struct held held_by(const char *text, const char *function)
{
	struct held sum = {}, at = {};
	bool counted = true, is_header;
	char frame[128];

	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line != 0) {
		unsigned long long bytes, blocks;

		is_header = sscanf(line, "\t%llu bytes in %llu allocations", &bytes, &blocks) == 2;
		if (is_header) {
			at = (struct held){ bytes, blocks };
			counted = false;
		}
		if (counted ||
		    (function && (is_header || sscanf(line, "\t\t%127[^\n]", frame) != 1 ||
				  strcmp(frame, function))))
			continue;
		sum.bytes += at.bytes;
		sum.blocks += at.blocks;
		counted = true;
	}
	return sum;
}

#define CHECK_HELD(text, function, n, each)                                                        \
	do {                                                                                       \
		struct held held = held_by(text, function);                                        \
		if (held.blocks != (n) || held.bytes != (uint64_t)(n) * (each))                    \
			UNIT_FAIL("%s holds %llu bytes in %llu blocks, not %d of %d", function,    \
				  (unsigned long long)held.bytes, (unsigned long long)held.blocks, \
				  (int)(n), (int)(each));                                          \
	} while (0)

/* Planted leaks, and the lines of leaky.c that ask for memory; 0: in another function. */
static const struct {
	const char *function;
	int line;
	uint64_t n, each;
} leaks[] = {
	{ "leak_malloc", 49, MALLOC_COUNT, MALLOC_BYTES },
	{ "leak_calloc", 56, CALLOC_COUNT, CALLOC_N *CALLOC_BYTES },
	{ "leak_realloc", 63, REALLOC_COUNT, REALLOC_BYTES },
	{ "leak_memalign", 72, MEMALIGN_COUNT, MEMALIGN_BYTES },
	{ "leak_aligned", 82, ALIGNED_COUNT, ALIGNED_BYTES },
	{ "leak_mmap", 97, MMAP_COUNT, MMAP_BYTES },
	{ "leak_rest_of_mapping", 0, 1, 2 * 4096 },
	{ "leak_strdup", 114, STRDUP_COUNT, STRDUP_BYTES },
	{ "leak_big", 121, BIG_COUNT, BIG_BYTES },
	{ "leak_nothing", 0, 0, 0 },
};

static void check_all_leaks(const char *text)
{
	for (size_t i = 0; i < ARRAY_SIZE(leaks); i++)
		CHECK_HELD(text, leaks[i].function, leaks[i].n, leaks[i].each);
	CHECK_LACKS(text, "[unknown]"); /* where stacks differ that begin alike, too */
}

/* Traces what the process does after "@ready"; the report must have blocks of no other process. */
static struct proc *trace(struct proc *work, const char *option)
{
	return trace_pid(work, "memleak", TEXT, "-o", "0", option);
}

/* The N of "N calls traced", or of "1 call traced"; UINT64_MAX: it isn't said. */
static uint64_t calls_traced(const struct proc *tool)
{
	const char *several = strstr(tool->err, " calls traced, ");
	const char *end = several ? several : strstr(tool->err, " call traced, "), *at = end;

	while (at && at > tool->err && at[-1] != ' ')
		at--;
	return at ? strtoull(at, NULL, 10) : UINT64_MAX;
}

/* Returns the reason why windows can't be tested here, or NULL. */
static const char *windows_lack(void)
{
	const char *lacks = memleak_lacks();
	const struct proc *tried =
		lacks ? NULL : tool_try("memleak", "--duty-cycle=10", "--", "true");

	if (tried && strstr(tried->err, "no uprobe.multi links"))
		return "the kernel attaches probes one by one";
	return lacks;
}

/* ---- every way to get memory ---- */

TEST_UNLESS(memleak_lacks, every_planted_leak_is_found_with_its_bytes)
{
	struct proc *tool = trace(work_start("leaky", "all", "1"), NULL);

	check_all_leaks(tool->out);
	CHECK_HAS(tool->err, ALL_STACKS);
	CHECK_EQ(truth_value(tool), held_by(tool->out, NULL).bytes);
}

/* A pid whose low bits are those of another one's; 0: there is none. */
static pid_t pid_beside(pid_t pid)
{
	FILE *f = fopen("/proc/sys/kernel/pid_max", "r");
	int max = 0;

	if (!f || fscanf(f, "%d", &max) != 1)
		max = 32768;
	if (f)
		fclose(f);
	return pid + 4096 < max ? pid + 4096 : pid > 4396 ? pid - 4096 : 0;
}

/* Executes something in a process of that pid. False: that can't be. */
static bool execute_as(pid_t pid)
{
	pid_t child = fork_as(pid);

	if (!child) {
		execl("/bin/true", "true", (char *)NULL);
		_exit(0);
	}
	return child == pid && waitpid(child, NULL, 0) == child;
}

/* Whatever the two pids have in common. */
TEST_UNLESS(memleak_lacks, what_others_execute_does_not_cut_stacks)
{
	struct proc *work = work_start("leaky", "many", "2000", "grow", "100", "many", "2000");
	pid_t beside = pid_beside(work->pid);
	struct proc *tool = tool_start_on(work, "memleak", TEXT, "-o", "0");

	if (!execute_as(beside))
		SKIP("can't choose a pid");
	work_go(work);
	usleep(500000);
	execute_as(beside);
	work_wait_done(work);
	tool_stop(tool);
	CHECK(held_by(tool->out, NULL).blocks >= 4000);
	CHECK_HAS(tool->err, ALL_STACKS);
}

TEST_UNLESS(memleak_lacks, planted_leaks_are_found_at_their_lines)
{
	struct proc *tool = trace(work_start("leaky", "all", "1"), "--lines");

	for (size_t i = 0; i < ARRAY_SIZE(leaks); i++)
		if (leaks[i].line)
			CHECK_HELD(tool->out,
				   text_of("%s (leaky.c:%d)", leaks[i].function, leaks[i].line),
				   leaks[i].n, leaks[i].each);
}

/* Blocks that are live at two reports are not counted twice. */
TEST_UNLESS(memleak_lacks, the_last_line_says_what_the_last_report_held)
{
	const char *last = NULL, *at;
	struct proc *work = work_start("leaky", "all", "1");
	struct proc *tool = tool_start_on(work, "memleak", "--format=text", "-T", "1000", "-o", "0",
					  "--interval=100ms");

	work_do(work);
	wait_for_lines(tool, "Top ", lines_with(tool->out, "Top ") + 2);
	tool_stop(tool);
	for (at = tool->out; (at = strstr(at, "Top ")); at++)
		last = at;
	CHECK(lines_with(tool->out, "Top ") > 1);
	check_all_leaks(last ? last : "");
	CHECK_EQ(truth_value(tool), held_by(last ? last : "", NULL).bytes);
}

/* Adds up "value" and "count" of the lines that have a frame of that name. */
static struct held held_in_json(const char *text, const char *function)
{
	struct held sum = {};
	const char *name = text_of("{\"name\":\"%s\",", function);

	for (const char *rest = text, *line; (line = line_with(&rest, name, ""));) {
		CHECK(number_in(line, "youngest_ms") <= number_in(line, "oldest_ms"));
		sum.bytes += number_in(line, "value");
		sum.blocks += number_in(line, "count");
	}
	return sum;
}

TEST_UNLESS(memleak_lacks, json_tells_counts_and_ages)
{
	struct proc *tool =
		tool_run("memleak", "--format", "json", "--", work_path("leaky"), "all", "1");
	struct held held = held_in_json(tool->out, "leak_malloc");

	CHECK_EQ(held.blocks, MALLOC_COUNT);
	CHECK_EQ(held.bytes, MALLOC_COUNT * MALLOC_BYTES);
	held = held_in_json(tool->out, "leak_big");
	CHECK_EQ(held.blocks, BIG_COUNT);
	CHECK_EQ(held.bytes, BIG_COUNT * BIG_BYTES);
	tool = tool_run("memleak", "--format", "json", "-C", "--", work_path("leaky"), "all", "1");
	CHECK_LACKS(tool->out, "_ms\"");
	CHECK_HAS(tool->out, "\"count\":");
}

/* A report when it ends, though everything is younger than -o wants it. */
TEST_UNLESS(memleak_lacks, a_commands_leaks_are_reported_when_it_ends)
{
	const char *quoted = text_of("'%s' \"all\" 1", work_path("leaky"));

	check_all_leaks(
		tool_run("memleak", TEXT, "-o", "1h", "--", work_path("leaky"), "all", "1")->out);
	check_all_leaks(tool_run("memleak", TEXT, "-o", "1h", "-c", quoted)->out);
}

TEST_UNLESS(memleak_lacks, a_process_that_ends_ends_the_tracing_with_a_report)
{
	struct proc *work = work_start("leaky", "all", "1");
	struct proc *tool = tool_start_on(work, "memleak", TEXT, "-o", "1h");

	work_do(work);
	close(work->in_fd);
	work->in_fd = -1;
	tool_finish(tool);
	CHECK_HAS(tool->err, "all targets have exited\n");
	check_all_leaks(tool->out);
}

/* /proc/PID has nothing to say about it. */
TEST_UNLESS(memleak_lacks, a_process_whose_main_thread_has_ended_is_probed_alone)
{
	struct proc *work = work_start("leaky", "leaderless", "all", "1");
	struct proc *other = work_start("leaky", "threads", "7");
	struct proc *tool = tool_start_on(work, "memleak", TEXT, "-o", "0");

	work_do(other);
	work_do(work);
	tool_stop(tool);
	check_all_leaks(tool->out);
	CHECK_LACKS(tool->err, "calls in untraced processes");
}

/* Its probes end with that thread, so what is freed later would not be seen. */
TEST_UNLESS(memleak_lacks, probes_that_have_lost_their_thread_end_the_tracing)
{
	struct proc *work = work_start("leaky", "leaderless", "heir", "1");
	struct proc *tool = tool_start_on(work, "memleak", TEXT);

	work_go(work);
	tool_finish(tool);
	CHECK_HAS(tool->err, text_of("process %d: detached: the thread that", work->pid));
	proc_kill(work);
}

/* No probe is tried there: a kernel may take it and break the program. */
TEST_UNLESS(memleak_lacks, a_function_that_takes_no_probe_is_named)
{
#if defined(__aarch64__)
	struct proc *tool = trace(work_start("literal"), NULL);

	CHECK_HAS(tool->err, "mi_free of ");
	CHECK_HAS(tool->err, "can't be probed: no suitable instruction at its entry");
#else
	SKIP("about arm64");
#endif
}

static bool preload(void *arg)
{
	return !setenv("LD_PRELOAD", arg, 1);
}

TEST_UNLESS(memleak_lacks, the_allocator_of_a_static_program_is_found)
{
	check_all_leaks(trace(work_start("leaky_static", "all", "1"), NULL)->out);
}

/* The command is stopped until its allocator is probed; env executes one that runs by then. */
TEST_UNLESS(memleak_lacks, only_an_allocator_that_runs_before_its_probes_is_late)
{
	const char *program = work_path("leaky_static"), *late = "allocators: 1 loaded";
	struct proc *tool = tool_run("memleak", TEXT, "--", program, "all", "1");

	check_all_leaks(tool->out);
	CHECK_LACKS(tool->err, late);
	CHECK_HAS(tool_run("memleak", TEXT, "--", "env", program, "grow", "200")->err, late);
}

/* The tool has no CPU while the program begins, leaks and ends. */
TEST_UNLESS(memleak_lacks, a_program_that_exits_before_its_allocator_is_found_is_reported)
{
	const char *missed = "processes: 1 exited before an allocator was found";
	struct proc *work = work_start("leaky", "exec", realpath_of(work_path("leaky_static")));
	struct proc *tool = tool_start_on(work, "memleak", TEXT);

	kill(tool->pid, SIGSTOP);
	work_go(work);
	wait_for_lines(work, "@ready", 2);
	work_do(work);
	close(work->in_fd);
	work->in_fd = -1;
	CHECK_EQ(proc_finish(work), 0);
	kill(tool->pid, SIGCONT);
	tool_finish(tool);
	CHECK_EQ(held_by(tool->out, NULL).blocks, 0);
	CHECK_HAS(tool->err, missed);
	CHECK_LACKS(trace(work_start("leaky", "big", "1"), NULL)->err, "processes: ");
	tool = tool_run("memleak", TEXT, "--follow", "--", "/bin/sh", "-c",
			"for i in 1 2 3 4 5 6 7; do /bin/true; done; /bin/ls / >/dev/null");
	CHECK_LACKS(tool->err, "processes: ");
}

#define PRELOADED_TEST(name, library)                                                          \
	TEST_UNLESS(memleak_lacks, name)                                                       \
	{                                                                                      \
		const char *path = library_path(library);                                      \
                                                                                               \
		if (!path)                                                                     \
			SKIP("needs package with " library);                                   \
		check_all_leaks(trace(work_start_in(preload, (void *)path, work_path("leaky"), \
						    ARGV("leaky", "all", "1")),                \
				      NULL)                                                    \
					->out);                                                \
	}

PRELOADED_TEST(jemalloc_is_found, "libjemalloc.so.2")
PRELOADED_TEST(tcmalloc_is_found, "libtcmalloc_minimal.so.4")
PRELOADED_TEST(mimalloc_is_found, "libmimalloc.so.2")

static void check_cxx(struct proc *work)
{
	struct proc *tool = trace(work, NULL);

	CHECK_HELD(tool->out, "leak_new()", NEW_COUNT, NEW_BYTES);
	CHECK_EQ(held_by(tool->out, "leak_vector()").bytes,
		 VECTOR_COUNT * (VECTOR_INTS * sizeof(int) + 3 * sizeof(void *)));
	CHECK_EQ(held_by(tool->out, "leak_vector()").blocks, 2 * VECTOR_COUNT);
	CHECK_HAS(work->out, "@leakycc survived 1");
}

TEST_UNLESS(memleak_lacks, new_is_found_and_may_throw)
{
	check_cxx(work_start("leakycc"));
}

/* Its operator new doesn't call malloc. */
TEST_UNLESS(memleak_lacks, an_allocators_own_new_is_found_and_may_throw)
{
	const char *path = library_path("libjemalloc.so.2");
	struct proc *tool;

	if (!path)
		SKIP("needs package with libjemalloc.so.2");
	tool = tool_run("memleak", "-v", "--", "/bin/true");
	if (!strstr(tool->err, "uprobe.session"))
		SKIP("the kernel has no sessions of uprobes");
	check_cxx(work_start_in(preload, (void *)path, work_path("leakycc"), ARGV("leakycc")));
}

/* ---- other mount namespaces ---- */

static bool copy_into(const char *folder, const char *path, const char *name)
{
	return file_copy(path, text_of("%s/%s", folder, name));
}

static bool enter_root(void *arg)
{
	return enter_mount_namespace() && !mount("none", arg, "tmpfs", 0, NULL) &&
	       !mkdir(text_of("%s/lib64", (char *)arg), 0755) &&
	       !mkdir(text_of("%s/lib", (char *)arg), 0755) &&
	       copy_into(arg, "/lib64/ld-linux-x86-64.so.2", "lib64/ld-linux-x86-64.so.2") &&
	       copy_into(arg, "/lib/x86_64-linux-gnu/libc.so.6", "lib/libc.so.6") &&
	       copy_into(arg, work_path("leaky"), "leaky") && !chroot(arg) && !chdir("/");
}

/* Its libc is one that nobody else sees. */
TEST_UNLESS(memleak_lacks, a_libc_in_another_mount_namespace_is_found)
{
	struct proc *work;

	if (access("/lib64/ld-linux-x86-64.so.2", R_OK) ||
	    access("/lib/x86_64-linux-gnu/libc.so.6", R_OK))
		SKIP("there is no glibc where it is looked for");
	work = work_start_in(enter_root, (void *)folder_make(), "/leaky",
			     ARGV("leaky", "all", "1"));
	check_all_leaks(trace(work, NULL)->out);
}

TEST_UNLESS(memleak_lacks, a_python_extensions_leak_is_found)
{
	static const char *const script = "import ctypes, sys\n"
					  "f = ctypes.CDLL(None).malloc\n"
					  "f.restype = ctypes.c_void_p\n"
					  "print('@ready', flush=True)\n"
					  "sys.stdin.buffer.raw.read(1)\n"
					  "for i in range(211): f(10007)\n"
					  "print('@done', flush=True)\n"
					  "sys.stdin.buffer.raw.read(1)\n";
	struct proc *tool;
	struct held held;

	NEED_FILE("/usr/bin/python3", "python3");
	tool = trace(work_start_in(NULL, NULL, "/usr/bin/python3", ARGV("python3", "-c", script)),
		     "--min-size=10007");
	held = held_by(tool->out, "ffi_call");
	if (!held.blocks)
		held = held_by(tool->out, "malloc");
	CHECK_EQ(held.blocks, 211);
	CHECK_EQ(held.bytes, 211 * 10007);
}

/* ---- mappings ---- */

#define MB (1UL << 20)

static uint64_t bytes_of(const struct proc *tool, const char *function)
{
	return held_by(tool->out, function).bytes;
}

TEST_UNLESS(memleak_lacks, parts_of_mappings_are_given_back_in_every_way)
{
	struct proc *tool = trace(work_start("leaky", "mappings", "10"), NULL);

	CHECK_EQ(bytes_of(tool, "shrink_heap"), 10 * MB);
	CHECK_EQ(bytes_of(tool, "unmap_all"), 0);
	CHECK_EQ(bytes_of(tool, "align_mapping"), 20 * MB);
	CHECK_EQ(bytes_of(tool, "protect_mapping"), 10 * MB);
	CHECK_EQ(bytes_of(tool, "move_mapping"), 40 * MB);
	CHECK_EQ(bytes_of(tool, "mremap"), 20 * MB);
}

/* The kernel's own account of an area in which all that can be done to mappings is done. */
TEST_UNLESS(memleak_lacks, mapped_memory_is_what_the_kernel_has_mapped)
{
	struct proc *work = work_start("leaky", "wander", "5000");
	struct proc *tool = trace(work, NULL);
	uint64_t mapped = work_value(work->out, "leaky", "mapped");

	CHECK(mapped > 0);
	CHECK_EQ(bytes_of(tool, "wander"), mapped);
	CHECK_LACKS(tool->err, "ring buffer full");
}

/* Before its tables are there its stacks are copied; equal ones are one all the same. */
TEST_UNLESS(memleak_lacks, what_is_taken_as_soon_as_code_is_loaded_has_its_stack)
{
	struct proc *tool = trace(work_start("leaky", "loaded", "20"), NULL);

	CHECK_HELD(tool->out, "take_in_copy", 20 * COPY_BLOCKS, COPY_BYTES);
	CHECK_EQ(lines_with(tool->out, "\t\ttake_in_copy"), 1);
	CHECK_EQ(lines_with(tool->out, "\t\tmain"),
		 lines_with(tool->out, " allocations from stack"));
	CHECK_HAS(tool->err, ALL_STACKS);
}

/* ---- many blocks ---- */

static int many(void)
{
	return at_size(1200007, 120011);
}

TEST_UNLESS(memleak_lacks, what_does_not_fit_is_said)
{
	struct proc *tool = trace(work_start("leaky", "many", "100003"), "--entries=1000");
	double percent = said_percent(tool, " % of bytes lost: map full");

	CHECK(percent > 0);
	CHECK_HAS(tool->err, "raise --entries");
	CHECK_CLOSE(held_by(tool->out, "take_many").blocks,
		    (uint64_t)(100003 * (100 - percent) / 100), 60);
}

TEST_UNLESS(memleak_lacks, mappings_that_do_not_fit_are_said)
{
	struct proc *tool = trace(work_start("leaky", "all", "1"), "--entries=1");

	CHECK_HAS(tool->err, " % of bytes lost: more mappings than --entries\n");
}

/* ---- what is counted, and once ---- */

/* malloc(0) takes memory, too. */
TEST_UNLESS(memleak_lacks, empty_blocks_count_as_a_byte_each)
{
	struct proc *tool = trace(work_start("leaky", "empty", "1009"), NULL);

	CHECK_HELD(tool->out, "take_empty", 1009, 1);
}

#define MANY_TEXT text_of("%d", many())

struct held_case {
	const char *words[6], *option;
	struct {
		const char *function; /* NULL: all */
		uint64_t n, each;
	} held[3];
};

static void check_held_case(const struct held_case *c)
{
	struct proc *tool = trace(work_start_argv(c->words), c->option);
	int failed = unit_failures;

	for (size_t k = 0; k < 3 && (!k || c->held[k].n || c->held[k].function); k++)
		CHECK_HELD(tool->out, c->held[k].function, c->held[k].n, c->held[k].each);
	CHECK(c->held[0].function || c->held[0].n || strstr(tool->out, "Top 0 stacks"));
	CHECK_NOTHING_FULL(tool);
	if (unit_failures > failed)
		printf("with %s %s\n", c->words[1], c->option ? c->option : "");
}

TEST_UNLESS(memleak_lacks, blocks_are_counted_once_while_they_are_live)
{
	const struct held_case cases[] = {
		/* a large block is the caller's, and not mmap's */
		{ { "leaky", "big", "1" },
		  NULL,
		  { { "leak_big", BIG_COUNT, BIG_BYTES },
		    { NULL, BIG_COUNT, BIG_BYTES },
		    { "mmap", 0, 0 } } },
		/* a realloc that fails frees nothing */
		{ { "leaky", "realloc", "1" },
		  NULL,
		  { { "keep_after_failure", FAILED_COUNT, FAILED_BYTES },
		    { "free_by_realloc", 0, 0 } } },
		/* blocks from before tracing are nobody's */
		{ { "leaky", "before", "many", "1009", "free" }, NULL, { { NULL, 0, 0 } } },
		/* threads' stacks and arenas aren't leaks, and no block gets lost between them */
		{ { "leaky", "threads", "7" },
		  NULL,
		  { { "leak_in_thread", 7 * THREAD_LEAKS, THREAD_BYTES },
		    { "work_in_thread", 7 * THREAD_LEAKS, THREAD_BYTES },
		    { "mmap", 0, 0 } } },
		{ { "leaky", "consumers", "5" },
		  NULL,
		  { { "leak_in_thread", 5, THREAD_BYTES },
		    { "free", 0, 0 },
		    { "mprotect", 0, 0 } } },
		{ { "leaky", "all", "1" },
		  "--max-size=40",
		  { { "leak_malloc", MALLOC_COUNT, MALLOC_BYTES },
		    { "leak_strdup", STRDUP_COUNT, STRDUP_BYTES },
		    { "leak_calloc", 0, 0 } } },
		{ { "leaky", "all", "1" },
		  "--min-size=1000000",
		  { { NULL, BIG_COUNT, BIG_BYTES } } },
		{ { "leaky", "children", "5" },
		  "--follow",
		  { { "leak_in_child", 5 * CHILD_COUNT, CHILD_BYTES } } },
		{ { "leaky", "children", "5" }, NULL, { { "leak_in_child", 0, 0 } } },
		{ { "leaky", "many", MANY_TEXT },
		  NULL,
		  { { "take_many", (uint64_t)many(), MANY_BYTES } } },
		{ { "leaky", "many", MANY_TEXT, "free" }, NULL, { { NULL, 0, 0 } } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		check_held_case(&cases[i]);
}

TEST_UNLESS(memleak_lacks, a_sample_holds_whole_lives)
{
	uint64_t blocks;
	struct proc *tool = trace(work_start("leaky", "many", "100003", "free"), "--sample-rate=7");

	CHECK_EQ(held_by(tool->out, NULL).blocks, 0);
	tool = trace(work_start("leaky", "many", "100003"), "--sample-rate=7");
	blocks = held_by(tool->out, "take_many").blocks;
	CHECK(blocks > 100003 / 7 / 2 && blocks < 100003 / 7 * 2);
}

/* The filter is about who takes a block: not about who moves it, and has another one then. */
TEST_UNLESS(memleak_lacks, what_a_thread_moves_that_is_not_traced_is_gone)
{
	struct proc *work = work_start("leaky", "hand", "1009");
	struct proc *tool = trace_pid(work, "memleak", TEXT, "-o", "0", "--comm=leaky");

	CHECK_HELD(tool->out, "take_for_others", 504, HANDED_BYTES);
	CHECK_EQ(held_by(tool->out, "move_blocks").blocks, 0);
	CHECK_HELD(trace(work_start("leaky", "hand", "1009"), NULL)->out, "move_blocks", 505,
		   HANDED_MOVED);
}

/* The program has another file's name: that file has another one there by now. */
static struct proc *start_replaced(const char *path)
{
	const char *new_path = text_of("%s.new", path);
	struct proc *work;

	unlink(path);
	if (link(work_path("leaky"), path))
		return NULL;
	work = work_start(path, "below", "7");
	return link(work_path("alike"), new_path) || rename(new_path, path) ? NULL : work;
}

TEST_UNLESS(memleak_lacks, an_object_that_was_replaced_on_disk_is_found)
{
	const char *path = text_of("%s.replaced", realpath_of(work_path("leaky")));
	struct proc *work, *tool;

	for (int by_path = 0; by_path < 2; by_path++) {
		work = start_replaced(path);
		CHECK(work);
		tool = trace_pid(work, "memleak", TEXT, "-o", "0", "--symbols-prefix=my_", "-O",
				 by_path ? path : strrchr(path, '/') + 1);
		CHECK_EQ(held_by(tool->out, "take_below").blocks, 7);
	}
	unlink(path);
}

TEST_UNLESS(memleak_lacks, single_blocks_are_those_of_the_stacks_that_are_shown)
{
	struct proc *work = work_start("leaky", "all", "1");
	struct proc *tool = trace_pid(work, "memleak", TEXT, "-a", "-o", "0", "--only=leak_strdup");

	CHECK_HAS(tool->out, text_of("size = %d\n", STRDUP_BYTES));
	CHECK_LACKS(tool->out, text_of("size = %d\n", MALLOC_BYTES));
}

/* The X of "traced for X % of the time", a share; 0: it isn't said. */
static double share_traced(const struct proc *tool)
{
	const char *at = strstr(tool->err, "allocations traced for ");

	return at ? strtod(at + strlen("allocations traced for "), NULL) / 100 : 0;
}

/* How much of it is in windows is chance: that it is the share that is said is not. */
TEST_UNLESS(windows_lack, windows_hold_their_share_of_the_time)
{
	struct proc *tool = trace(work_start("leaky", "steady", "3001"), "--duty-cycle=20");
	double share = share_traced(tool);
	double held = (double)held_by(tool->out, "take_steadily").blocks / 3001;

	CHECK_NOTHING_FULL(tool);
	CHECK(share > 0 && share < 1);
	if (held < share / 4 || held > share * 4) /* either of the two may have had no CPU */
		UNIT_FAIL("%.3f of the blocks are held, of the time traced %.3f", held, share);
	CHECK(held_by(tool->out, "realloc").blocks > 0);
}

/* In windows it makes fewer calls than in the same time outside of them, so no factor is right. */
TEST_UNLESS(windows_lack, windows_claim_nothing_about_the_rest)
{
	struct proc *work = work_start("leaky", "hurry", "300");
	struct proc *tool = trace_pid(work, "memleak", TEXT, "-s", "3", "--duty-cycle=50");

	CHECK(share_traced(tool) > 0);
	CHECK_HAS(tool->err, ", one address in 3 (only blocks of these windows are shown)\n");
	CHECK_LACKS(tool->err, "multiply");
	CHECK_LACKS(tool->err, "give or take");
}

TEST_UNLESS(windows_lack, blocks_of_windows_are_followed_to_their_end)
{
	struct proc *tool = trace(work_start("leaky", "steady", "1009", "free"), "--duty-cycle=50");

	CHECK(share_traced(tool) > 0);
	CHECK_EQ(held_by(tool->out, NULL).blocks, 0);
}

/* Calls in the next window are not taken for calls within one whose end was missed. */
TEST_UNLESS(windows_lack, a_call_that_a_window_has_not_seen_the_end_of_is_over)
{
	struct proc *work = work_start("leaky", "leave", "1", "below", "101");
	struct proc *tool = trace_pid(work, "memleak", TEXT, "-o", "0", "--obj=leaky",
				      "--symbols-prefix=my_", "--duty-cycle=50");

	CHECK(held_by(tool->out, "take_below").blocks > 0);
}

/* ---- processes ---- */

/* Else a script's programs would cost every process on the machine. */
TEST_UNLESS(memleak_lacks, children_of_a_command_are_followed_only_if_asked)
{
	struct proc *tool =
		tool_run("memleak", TEXT, "--follow", "--", work_path("leaky"), "children", "5");

	CHECK_HELD(tool->out, "leak_in_child", 5 * CHILD_COUNT, CHILD_BYTES);
	tool = tool_run("memleak", TEXT, "--", work_path("leaky"), "children", "5");
	CHECK_HELD(tool->out, "leak_in_child", 0, 0);
	CHECK_HAS(tool->err, "command: 5 child processes not traced");
	tool = tool_run("memleak", TEXT, "--no-follow", "--", work_path("leaky"), "children", "5");
	CHECK_LACKS(tool->err, "child process");
}

/* A subshell that executes the program: it has its last name, though it ends soon. */
TEST_UNLESS(memleak_lacks, children_that_have_ended_have_their_last_names)
{
	const char *script = text_of("for i in 1 2 3 4 5 6 7 8 9; do "
				     "(sleep 0.05; exec %s all 1); done",
				     work_path("leaky"));
	struct proc *tool = tool_run("memleak", "-f", "--follow", "--", "sh", "-c", script);
	uint64_t bytes = folded_sum(tool->out, NULL, "leak_malloc;malloc");

	CHECK(bytes > 0);
	CHECK_EQ(folded_sum(tool->out, "leaky", "leak_malloc;malloc"), bytes);
}

static int stacks_of_malloc_with(const struct proc *tool, const char *part)
{
	const char *rest = tool->out;
	int n = 0;

	while (line_with(&rest, "\"name\":\"leak_malloc\"", part))
		n++;
	return n;
}

TEST_UNLESS(memleak_lacks, children_that_have_ended_have_their_last_cgroup)
{
	const char *cgroup = cgroups_lack() ? NULL : cgroup_make("memleak"), *script;
	struct proc *tool;
	int leaky;

	if (!cgroup)
		SKIP("no cgroup2");
	script = text_of("for i in 1 2 3 4 5 6 7 8 9; do (sleep 0.05; exec sh -c "
			 "'echo $$ > %s/cgroup.procs; exec %s all 1'); done",
			 cgroup, work_path("leaky"));
	tool = tool_run("memleak", "--follow", "--format", "json", "--", "sh", "-c", script);
	leaky = stacks_of_malloc_with(tool, "\"comm\":\"leaky\"");
	/* One that is linked statically is probed while the first of them runs. */
	CHECK(leaky == 9 || leaky == 8);
	CHECK_EQ(stacks_of_malloc_with(tool, text_of("\"cgroup\":\"%s\"",
						     cgroup + strlen(cgroup2_root()))),
		 leaky);
}

/* Their libc is probed, too. */
TEST_UNLESS(memleak_lacks, calls_of_other_programs_are_not_counted)
{
	struct proc *work = work_start("leaky", "big", "1");
	struct proc *other = work_start("leaky", "threads", "7");
	struct proc *tool =
		tool_start_on(work, "memleak", TEXT, "-o", "0", "--follow", "--max-rate=1000");

	work_do(other);
	proc_linger(tool, 300);
	work_do(work);
	tool_stop(tool);
	CHECK_HELD(tool->out, "leak_big", BIG_COUNT, BIG_BYTES);
	CHECK(calls_traced(tool) < 100);
	CHECK_LACKS(tool->err, "--max-rate");
	CHECK_HAS(tool->err, "calls in untraced processes");
}

/* The program that is executed leaks the same again. */
TEST_UNLESS(memleak_lacks, a_program_that_is_executed_begins_anew)
{
	struct proc *work = work_start("leaky", "exec", realpath_of(work_path("leaky")));
	struct proc *tool = tool_start_on(work, "memleak", TEXT, "-o", "0");

	work_go(work);
	wait_for_lines(work, "@ready", 2);
	tool_settle(tool);
	work_do(work);
	tool_stop(tool);
	check_all_leaks(tool->out);
}

/* The descriptors of a tool that are links to probes. */
static size_t links_of(const struct proc *tool)
{
	const char *folder = text_of("/proc/%d/fd", tool->pid);
	size_t n_left = folder_count(folder), n = 0;
	char target[64];

	for (int fd = 0; n_left && fd < 10000; fd++) {
		ssize_t bytes = readlink(text_of("%s/%d", folder, fd), target, sizeof(target) - 1);

		target[bytes > 0 ? bytes : 0] = '\0';
		n_left -= bytes > 0;
		n += strstr(target, "bpf") && strstr(target, "link");
	}
	return n;
}

/* Starts the tool on a process that then executes its program n times, each time by a thread. */
static void check_relay(int n)
{
	struct proc *work = work_start("leaky", "relay", text_of("%d", n));
	struct proc *tool = tool_start_on(work, "memleak", TEXT, "-o", "0");
	size_t links = links_of(tool);

	work_go(work);
	wait_for_lines(work, "@ready", 2);
	tool_settle(tool);
	for (int s = 0; s < WAIT_S && links_of(tool) > links; s++)
		proc_linger(tool, 1000);
	CHECK_EQ(links_of(tool), links);
	work_do(work);
	tool_stop(tool);
	check_all_leaks(tool->out);
	CHECK_HAS(tool->err, " loaded while tracing");
}

/* Links are bound to the main thread, which such an exec ends. */
TEST_UNLESS(memleak_lacks, a_program_that_a_thread_has_executed_is_probed_again)
{
	check_relay(1);
}

TEST_UNLESS(memleak_lacks, links_of_programs_that_threads_have_executed_are_closed)
{
	check_relay(at_size(100, 20));
}

/* Each copy of a static program is another file with an allocator. */
TEST_UNLESS(windows_lack, probes_of_files_that_nobody_maps_are_dropped)
{
	int n = at_size(150, 20);
	struct proc *work, *tools[3];
	size_t before[3], most = 0, links;

	work = work_start("leaky_static", "copies", text_of("%d", n), "pause");
	tools[0] = tool_start_on(work, "memleak", TEXT, "--follow");
	tools[1] = tool_start_on(work, "memleak", "--follow", "1");
	tools[2] = tool_start_on(work, "memleak", TEXT, "--follow", "--duty-cycle=10");
	for (int i = 0; i < 3; i++)
		before[i] = links_of(tools[i]);
	work_go(work);
	while (!strstr(work->out, "@paused")) {
		proc_linger(work, 100);
		links = links_of(tools[0]);
		most = links > most ? links : most;
	}
	CHECK(most > before[0] + FEW_LINKS); /* a busy tool comes too late for some */
	for (int i = 0; i < 3; i++) {
		for (int s = 0; s < WAIT_S && links_of(tools[i]) > before[i] + FEW_LINKS; s++)
			proc_linger(tools[i], 1000);
		links = links_of(tools[i]);
		if (links > before[i] + FEW_LINKS)
			UNIT_FAIL("tool %d has %zu links, %zu at its beginning", i, links,
				  before[i]);
		tool_stop(tools[i]);
	}
}

TEST_UNLESS(memleak_lacks, probes_in_one_of_several_that_has_ended_are_dropped)
{
	struct proc *ends = work_start("leaky_static", "big", "1");
	struct proc *stays = work_start("leaky", "big", "1");
	struct proc *tool = tool_start("memleak", TEXT, "-o", "0", "-p",
				       text_of("%d,%d", ends->pid, stays->pid));
	size_t links = links_of(tool);

	proc_kill(ends);
	for (int s = 0; s < WAIT_S && links_of(tool) >= links; s++)
		proc_linger(tool, 1000);
	CHECK(links_of(tool) < links);
	work_do(stays);
	tool_stop(tool);
	CHECK_HELD(tool->out, "leak_big", BIG_COUNT, BIG_BYTES);
}

/* The first ones of 60 blocks of a run may come before the probes. */
TEST_UNLESS(memleak_lacks, a_program_that_is_started_again_is_traced_again)
{
	const char *path = text_of("%s/leaky", folder_make());
	struct proc *work, *tool;

	CHECK(file_copy(work_path("leaky_static"), path));
	work = work_start("leaky", "program", path, "pause", "1", "program", path, "program", path);
	tool = tool_start_on(work, "memleak", TEXT, "--follow");
	work_go(work);
	proc_wait_for(tool, text_of("%s: no longer mapped by any process", path));
	work_do(work);
	tool_stop(tool);
	CHECK(held_by(tool->out, "grow").blocks > 60);
}

/* ---- over time ---- */

TEST_UNLESS(memleak_lacks, what_keeps_growing_is_told_from_what_does_not)
{
	struct proc *work = work_start("leaky", "grow", "400");
	struct proc *tool =
		tool_start_on(work, "memleak", "--growth", "-o", "0", "--interval=300ms");
	struct proc *folded =
		tool_start_on(work, "memleak", "--growth", "-f", "-o", "0", "--interval=300ms");

	work_do(work);
	tool_stop(tool);
	tool_stop(folded);
	CHECK(held_by(tool->out, "grow").blocks > 0);
	CHECK_EQ(held_by(tool->out, "use_cache").blocks, 0);
	CHECK_HAS(tool->out, " allocations in the last of ");
	CHECK(folded_sum(folded->out, NULL, "grow_slowly;grow") > 0);
	CHECK_EQ(folded_sum(folded->out, NULL, "use_cache"), 0);
}

TEST_UNLESS(memleak_lacks, too_few_reports_for_growth_are_reported)
{
	static const char warning[] = "of 7 necessary reports";
	struct proc *work = work_start("leaky", "pause", "1");

	CHECK_HAS(tool_run_on(work, "memleak", "--growth", "--duration=100ms")->err, warning);
	CHECK_LACKS(tool_run_on(work, "memleak", "--growth", "20ms", "7")->err, warning);
	proc_kill(work);
}

TEST_UNLESS(memleak_lacks, too_many_calls_end_the_tracing)
{
	struct proc *work =
		work_start("leaky", "threads", "7", "threads", "7", "threads", "7", "threads", "7");
	struct proc *tool = tool_start_on(work, "memleak", TEXT, "--max-rate=1000");

	work_do(work);
	tool_finish(tool);
	CHECK_HAS(tool->err, " exceed --max-rate 1000\n");
	CHECK(strstr(tool->err, "hint: use -o 0 to see blocks younger than --older\n") ||
	      truth_ms(tool) >= 490); /* the run ends after the tracing */
}

/* All that it calls in a second is no more, although it comes at once. */
TEST_UNLESS(memleak_lacks, a_burst_of_fewer_calls_does_not_end_the_tracing)
{
	struct proc *tool;
	uint64_t n = calls_traced(trace(work_start("leaky", "threads", "7"), NULL));

	CHECK(n > 100);
	tool = trace(work_start("leaky", "threads", "7"),
		     text_of("--max-rate=%" PRIu64, n + n / 100));
	CHECK_LACKS(tool->err, "--max-rate");
	CHECK(calls_traced(tool) > n / 2);
}

TEST_UNLESS(memleak_lacks, each_call_is_traced)
{
	struct proc *tool = trace(work_start("leaky", "realloc", "1"), "--trace");

	CHECK(lines_with(tool->out, text_of(" %d", FAILED_BYTES)) >= FAILED_COUNT);
	CHECK(lines_with(tool->out, " free ") >= FAILED_COUNT);
}

TEST_UNLESS(memleak_lacks, calls_that_the_ring_has_no_room_for_are_told)
{
	struct proc *work = work_start("leaky", "many", "100003");
	struct proc *tool = trace_stopped(work, ARGV("memleak", TEXT, "--trace"));
	uint64_t lost = said_number(tool, " events lost: ring buffer full");

	CHECK(lost > 0);
	CHECK_CLOSE(lines_with(tool->out, " malloc ") + lost, 100003, 10);
}

/* The first stack of all has the most bytes, or the most blocks. */
TEST_UNLESS(memleak_lacks, stacks_are_sorted_by_bytes_or_blocks)
{
	for (int i = 0; i < 2; i++) {
		struct proc *tool = trace_pid(work_start("leaky", "all", "1"), "memleak",
					      "--format=text", "-T", "1", "-o", "0",
					      "--interval=1h", i ? "--sort=count" : "--sort=size");

		struct held held = held_by(tool->out, NULL);

		CHECK_EQ(held.blocks, i ? STRDUP_COUNT : BIG_COUNT);
		CHECK_EQ(held.bytes, i ? STRDUP_COUNT * STRDUP_BYTES : BIG_COUNT * BIG_BYTES);
	}
}

TEST_UNLESS(memleak_lacks, calls_are_counted)
{
	struct proc *tool = trace(work_start("leaky", "many", "300007", "free"), NULL);

	CHECK_CLOSE(calls_traced(tool), 600014, 10);
}

TEST_UNLESS(windows_lack, moves_between_windows_are_counted)
{
	struct proc *tool = trace(work_start("leaky", "move", "20000"), "--duty-cycle=1");

	CHECK_CLOSE(calls_traced(tool), 20001, 10);
	tool = trace(work_start("leaky", "move", "20000"), "--comm=nobody");
	CHECK_CLOSE(calls_traced(tool), 20001, 10);
}

TEST_UNLESS(windows_lack, moves_between_windows_end_the_tracing_if_there_are_too_many)
{
	struct proc *work = work_start("leaky", "move", "10000");
	struct proc *tool =
		tool_start_on(work, "memleak", TEXT, "--duty-cycle=1", "--max-rate=1000");

	work_do(work);
	tool_finish(tool);
	CHECK_HAS(tool->err, " exceed --max-rate 1000");
}

/* ---- the kernel ---- */

#define PIPES 211

static const char *tables_lack(void)
{
	return features_compare_and_exchange() ? NULL : "no compare-and-exchange";
}

/* No pages: the slab allocator may take new ones just then. */
TEST_UNLESS(tables_lack, the_kernels_blocks_are_found)
{
	struct proc *work = work_start("leaky", "pipes", text_of("%d", PIPES)), *tool;
	uint64_t blocks;

	tool = trace_work(work, ARGV("memleak", TEXT, "--comm", "leaky", "-o", "0", "-Z", "4095"));
	blocks = held_by(tool->out, "alloc_pipe_info").blocks;
	CHECK(blocks <= 2 * PIPES && blocks + events_missed(tool) >= 2 * PIPES);
	CHECK_LACKS(tool->out, "bpf_prog_");
}

#define COUNTERS      53
#define COUNTER_BYTES 1000

/* Each element of the map has a copy on each CPU. */
TEST_UNLESS(tables_lack, per_cpu_blocks_count_for_each_cpu)
{
	uint64_t bytes = (uint64_t)COUNTER_BYTES * (uint64_t)libbpf_num_possible_cpus(), held;
	struct proc *tool = tool_start("memleak", "-f", "-P", "--comm", "memleak_test", "-o", "0");
	int fd = bpf_map_create(BPF_MAP_TYPE_PERCPU_ARRAY, NULL, 4, COUNTER_BYTES, COUNTERS, NULL);

	CHECK(fd >= 0);
	tool_stop(tool);
	close(fd);
	held = folded_sum_with(tool->out, NULL, "sys_bpf");
	CHECK(held <= COUNTERS * bytes && held + events_missed(tool) * bytes >= COUNTERS * bytes);
}

/* Frees have nobody who asked for them, but calls of threads that nobody wants are not shown. */
TEST_UNLESS(tables_lack, what_others_free_in_the_kernel_is_not_traced)
{
	struct proc *tool =
		tool_run("memleak", "--trace", "--comm", "no_such_comm", "--duration", "300ms");

	CHECK_EQ(calls_traced(tool), 0);
	CHECK_EQ(lines_with(tool->out, " free "), 0);
}

TEST_UNLESS(tables_lack, lines_of_calls_have_a_heading_in_each_file)
{
	const char *folder = folder_make();

	tool_run("memleak", "--trace", "--comm", "no_such_comm", "--output",
		 text_of("%s/x.txt", folder), "100ms", "3");
	for (int i = 1; i <= 3; i++)
		CHECK_EQ(lines_from(file_read(text_of("%s/x.%03d.txt", folder, i)), "TIME(s)"), 1);
}

/* ---- limits ---- */

static bool limit(void *arg, int resource)
{
	struct rlimit limit = { *(rlim_t *)arg, *(rlim_t *)arg };

	return !setrlimit(resource, &limit);
}

/* Limits files. Inherited descriptors (a jobserver's pipe) are closed on exec and don't count. */
static bool limit_files(void *arg)
{
	for (int fd = STDERR_FILENO + 1; fd < 100; fd++)
		fcntl(fd, F_SETFD, FD_CLOEXEC);
	return limit(arg, RLIMIT_NOFILE);
}

static bool limit_address_space(void *arg)
{
	return limit(arg, RLIMIT_AS);
}

/* As those of a just-in-time compiler: what has been given back leaves nothing. */
TEST_UNLESS(memleak_lacks, stacks_without_blocks_are_let_go_of)
{
	struct proc *work =
		work_start("paths", "16", text_of("%d", at_size(7500, 50)), "0", "block");
	struct proc *tool =
		trace_pid(work, "memleak", "--entries", "1000", "--interval", "250ms", "--output",
			  text_of("%s/x.txt", folder_make()), "--keep", "2");

	CHECK(stackless_percent(tool) < 50);
	if (at_size(1, 0)) /* a small one is no measure */
		CHECK_PEAK(tool, EVER_NEW_KB);
}

/* However far it gets, it doesn't blame the kernel; each limit is another descriptor that lacks. */
TEST_UNLESS(memleak_lacks, too_few_open_files_are_said_to_be_the_reason)
{
	struct proc *work = work_start("leaky", "big", "1"), *tool = NULL;

	for (rlim_t files = 4; !tool || tool->status; files++) {
		tool = tool_try_in(limit_files, &files, "memleak", "-p", pid_text(work->pid),
				   "--duration", "1ms");
		if (tool->status && !strstr(tool->err, "ulimit -n"))
			UNIT_FAIL("with %d files: %s", (int)files, tool->err);
		CHECK(!tool->status || !strstr(tool->err, "Linux 5"));
	}
}

/* The descriptors of the process that are free below the limit are so many. */
static void leave_files(const struct proc *tool, int n_free)
{
	struct rlimit limit = {};
	struct stat st;

	for (int fd = 0; n_free >= 0; fd++) {
		n_free -= lstat(text_of("/proc/%d/fd/%d", tool->pid, fd), &st) < 0;
		limit.rlim_cur = limit.rlim_max = (rlim_t)fd;
	}
	CHECK(!prlimit(tool->pid, RLIMIT_NOFILE, &limit, NULL));
}

static bool says_what_it_misses(const struct proc *tool)
{
	return strstr(tool->err, ": probing a loaded library failed: ") ||
	       strstr(tool->err, "memleak: uprobes: attach in a --duty-cycle window failed: ") ||
	       strstr(tool->err, ": search for allocators failed: ") ||
	       strstr(tool->err, "can't be probed: Too many open files");
}

/* Checks that a program executed later is traced with an allocator of its own. */
static void check_later(const char *mode, const char *option, const char *size,
			void (*settle)(struct proc *tool))
{
	for (int n_free = 0; n_free < 6; n_free++) {
		struct proc *work =
			work_start("leaky", mode, realpath_of(work_path("leaky_static")));
		struct proc *tool = tool_start_on(work, "memleak", TEXT, "-o", "0", option, size);

		leave_files(tool, n_free);
		work_go(work);
		wait_for_lines(work, "@ready", 2);
		settle(tool);
		work_do(work);
		tool_stop(tool);
		if (!says_what_it_misses(tool) && !held_by(tool->out, NULL).blocks)
			UNIT_FAIL("with %d more files nothing is held by %s, nor said: %s", n_free,
				  mode, tool->err);
	}
}

TEST_UNLESS(windows_lack, allocators_that_come_later_and_cannot_be_probed_are_told_of)
{
	check_later("exec", "--format=text", "--min-size=1", tool_settle);
	check_later("exec_steady", "--duty-cycle=50", "--max-size=5000", tool_settle_awake);
}

/* The table is larger than the address space. */
TEST_UNLESS(memleak_lacks, a_large_table_needs_little_of_the_address_space)
{
	rlim_t bytes = 256 << 20;
	struct proc *work = work_start("leaky", "big", "1");
	struct proc *tool = tool_run_in(limit_address_space, &bytes, "memleak", "--entries=5600000",
					"-p", pid_text(work->pid), "1", "1");

	CHECK_LACKS(tool->err, "failed");
}

/* ---- the floor ---- */

TEST(an_old_kernel_is_told_of_in_one_line)
{
	struct proc *tool;

	if (features_compare_and_exchange())
		SKIP("the kernel is new enough");
	tool = tool_try("memleak", "-p", pid_text(getpid()));
	CHECK_FAILURE(tool, NEEDS_5_12);
	CHECK_EQ(lines_from(tool->err, "memleak: "), 1);
}

/* The others are traced, and nobody takes its silence for a result. */
TEST_UNLESS(memleak_lacks, one_of_several_without_an_allocator_is_told_of)
{
	struct proc *work = work_start("leaky", "big", "1");
	struct proc *other = work_start("names_static_stripped", "1");
	struct proc *tool = trace_work(work, ARGV("memleak", TEXT, "-o", "0", "-p",
						  text_of("%d,%d", work->pid, other->pid)));

	CHECK_HELD(tool->out, "leak_big", BIG_COUNT, BIG_BYTES);
	CHECK_HAS(tool->err, text_of("process %d: no allocation function", other->pid));
	CHECK_LACKS(tool->err, text_of("process %d: no allocation function", work->pid));
}

TEST_UNLESS(memleak_lacks, a_process_without_an_allocator_is_an_error)
{
	const char *pid = pid_text(work_start("leaky", "big", "1")->pid);

	CHECK_FAILS("no allocation function found", "memleak", "-p", pid, "-S", "nosuchprefix_");
	CHECK_FAILS(text_of("process %s maps no file 'libnosuch'\n", pid), "memleak", "-p", pid,
		    "-O", "libnosuch");
}

/* Libraries may be loaded until a command ends. */
TEST_UNLESS(memleak_lacks, a_command_without_an_allocator_is_an_error)
{
	CHECK_FAILS("no allocation function found in 'libnosuch'", "memleak", "-O", "libnosuch",
		    "--", "/bin/true");
	CHECK_FAILS("no allocation function found", "memleak", "-S", "nosuchprefix_", "--",
		    "/bin/true");
}

/* The tool leaves a process alone if the kernel would kill it. */
TEST_UNLESS(memleak_lacks, a_process_under_seccomp_lives_on)
{
	struct proc *work = work_start("boxed", "100");
	struct proc *tool = trace(work, NULL);

	CHECK_HELD(tool->out, "leak_boxed", 100, 1000);
	close(work->in_fd);
	work->in_fd = -1;
	CHECK_EQ(proc_finish(work), 0);
	CHECK(features_filters_see(SYS_getppid)); /* else the tool could not find that out */
	CHECK(!features_filters_see(SYS_exit_group));
}
