// SPDX-License-Identifier: GPL-2.0-only
/*
 * User stacks of programs without frame pointers, live: each must be complete, from _start to the
 * innermost function, and named by the file that the process really has. Then what the verifier
 * says of the walker's size.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "abi/filter.h"
#include "abi/python.h"
#include "abi/stack.h"
#include "abi/unwind_layout.h"
#include "run/features.h"
#include "live.h"

#define NOFP_FRAMES  "nofp_outer;nofp_middle;nofp_leaf"
#define OTHER_FRAMES "other_outer;other_middle;other_leaf"
#define FREQUENCY    "199"

/*
 * Nearly all the weight is on stacks that lead from the outermost frame through these. What a
 * process does in its first and last moments is not among them, nor is new code until the loader
 * has seen it, which on an emulated machine lasts.
 */
static void check_complete(const struct proc *tool, const char *comm, const char *frames)
{
	uint64_t all = folded_sum(tool->out, comm, NULL);
	uint64_t whole = folded_sum(tool->out, comm, frames);

	CHECK_STATUS(tool, 0);
	CHECK(all > 0);
	if (whole < all - all / (uint64_t)at_size(20, 2))
		UNIT_FAIL("%llu of %llu go through %s: %s %s", (unsigned long long)whole,
			  (unsigned long long)all, frames, tool->out, tool->err);
}

/*
 * What the tool itself says of that. A thread that exits has no stack any more at its last switch.
 */
static void check_told_complete(const struct proc *tool)
{
	const char *at = strstr(tool->err, "user stacks: ");

	if (!at || atof(at + strlen("user stacks: ")) < at_size(995, 900) / 10.0 ||
	    !strstr(at, " % complete"))
		UNIT_FAIL("too few are complete: %s", tool->err);
}

/* Of the workload's own samples, which begin when it is told to go. */
static struct proc *trace_pid(const char *tool_name, struct proc *work, const char *option)
{
	struct proc *tool =
		strcmp(tool_name, "profile")
			? tool_start(tool_name, "-p", pid_text(work->pid), option)
			: tool_start(tool_name, "-F", FREQUENCY, "-p", pid_text(work->pid), option);

	work_do(work);
	tool_stop(tool);
	return tool;
}

#define AUTO "--unwind=auto"

TEST(samples_without_frame_pointers_are_complete)
{
	struct proc *tool = trace_pid("profile", work_start("nofp", "spin", "700"), AUTO);

	check_complete(tool, "nofp", "main;just_stay;" NOFP_FRAMES);
	CHECK_EQ(lines_from(tool->out, "nofp;_start;"), lines_from(tool->out, "nofp;"));
	check_told_complete(tool);
}

TIMED_TEST(waits_without_frame_pointers_are_complete)
{
	struct proc *tool = trace_pid("offcputime", work_start("nofp", "nap", "700"), AUTO);

	CHECK_CLOSE(folded_sum(tool->out, "nofp", "main;just_stay;" NOFP_FRAMES ";work_sleep"),
		    700000, (uint64_t)at_size(50, 300));
	CHECK_EQ(lines_from(tool->out, "nofp;_start;"), lines_from(tool->out, "nofp;"));
}

/* This very workload, so that the tests above mean something. */
TEST(frame_pointers_alone_do_not_find_them)
{
	struct proc *tool = trace_pid("profile", work_start("nofp", "spin", "500"), "--unwind=fp");

	CHECK(folded_sum(tool->out, "nofp", NULL) > 0);
	CHECK_EQ(folded_sum(tool->out, "nofp", "main;just_stay;" NOFP_FRAMES), 0);
	CHECK_HAS(tool->err, "by frame pointers");
	tool = trace_pid("offcputime", work_start("nofp", "nap", "300"), "--unwind=fp");
	CHECK(folded_sum(tool->out, "nofp", NULL) > 0);
	CHECK_EQ(folded_sum(tool->out, "nofp", "main;just_stay;" NOFP_FRAMES), 0);
}

TEST(a_signal_frame_is_crossed)
{
	struct proc *tool = trace_pid("profile", work_start("nofp", "signal", "700"), AUTO);

	check_complete(tool, "nofp", "on_signal;" NOFP_FRAMES);
	check_complete(tool, "nofp", "_start");
	check_complete(tool, "nofp", "main;stay_in_handler");
}

TEST(a_library_mapped_while_tracing_is_crossed)
{
	const char *copy = text_of("%s/libcopy", folder_make());
	struct proc *work, *tool;

	CHECK(file_copy(work_path("nofp"), copy));
	work = work_start("nofp", "map", "700", copy);
	tool = trace_pid("profile", work, AUTO);
	check_complete(tool, "nofp", "main;stay_in_copy;nofp_mapped;" NOFP_FRAMES);
	check_complete(tool, "nofp", "_start");
}

TEST(a_program_executed_while_tracing_has_its_own_stacks)
{
	struct proc *work = work_start("nofp", "exec", "700", realpath_of(work_path("other")));
	struct proc *tool = trace_pid("profile", work, AUTO);

	check_complete(tool, "executed", "main;just_stay;" OTHER_FRAMES);
	CHECK_EQ(folded_count(tool->out, "executed", "nofp_leaf"), 0);
}

TEST(a_deleted_program_is_complete)
{
	const char *path = text_of("%s/nofp", folder_make());
	struct proc *work;

	CHECK(file_copy(work_path("nofp"), path));
	work = work_start_in(NULL, NULL, path, ARGV("nofp", "spin", "500"));
	unlink(path);
	CHECK(file_copy(work_path("other"), path)); /* which has nothing to say about it */
	check_complete(trace_pid("profile", work, AUTO), "nofp", "main;just_stay;" NOFP_FRAMES);
}

/* /proc/PID has nothing to say about its memory. */
TEST(a_process_whose_main_thread_has_ended_is_complete)
{
	struct proc *tool = trace_pid("profile", work_start("nofp", "leaderless", "700"), AUTO);

	check_complete(tool, "nofp", "run_alone;just_stay;" NOFP_FRAMES);
	tool = trace_pid("offcputime", work_start("nofp", "leaderless", "300"), AUTO);
	CHECK(folded_sum(tool->out, "nofp", "run_alone") > 0);
	CHECK_HAS(tool->out, "[blocked at start]");
	check_told_complete(tool);
}

#define MEMFD 100

static bool put_into_memfd(void *arg)
{
	int fd = memfd_create("nofp", 0), from = open(arg, O_RDONLY | O_CLOEXEC);
	char buffer[4096];
	ssize_t n;

	while ((n = read(from, buffer, sizeof(buffer))) > 0)
		if (write(fd, buffer, (size_t)n) != n)
			return false;
	return n == 0 && dup2(fd, MEMFD) == MEMFD;
}

TEST(a_program_in_a_memfd_is_complete)
{
	struct proc *work =
		work_start_in(put_into_memfd, (void *)work_path("nofp"),
			      text_of("/proc/self/fd/%d", MEMFD), ARGV("nofp", "spin", "500"));

	check_complete(trace_pid("profile", work, AUTO), "nofp", "main;just_stay;" NOFP_FRAMES);
}

/* Outside there is another build at the same path, and it runs at the same time. */
TEST(another_mount_namespaces_build_is_not_mixed_up)
{
	struct other_file other = { text_of("%s/nofp", folder_make()), work_path("other") };
	struct proc *outside, *inside, *tool;

	CHECK(file_copy(work_path("nofp"), other.path));
	inside = work_start_in(put_other_file, &other, other.path, ARGV("nofp", "spin", "700"));
	outside = work_start_in(NULL, NULL, other.path, ARGV("nofp", "spin", "700"));
	tool = tool_start("profile", "-F", FREQUENCY, "-p",
			  text_of("%d,%d", inside->pid, outside->pid));
	work_go(inside);
	work_do(outside);
	work_wait_done(inside);
	tool_stop(tool);
	check_complete(tool, "other", "main;just_stay;" OTHER_FRAMES);
	check_complete(tool, "nofp", "main;just_stay;" NOFP_FRAMES);
	CHECK_EQ(folded_count(tool->out, "other", "nofp_leaf"), 0);
	CHECK_EQ(folded_count(tool->out, "nofp", "other_leaf"), 0);
}

TEST(threads_blocked_before_the_start_are_complete)
{
	struct proc *work = work_start("nofp", "block", "0");
	struct proc *tool = tool_start("offcputime", "-p", pid_text(work->pid));

	proc_linger(tool, 300);
	work_do(work);
	tool_stop(tool);
	check_complete(tool, "blocked", "block_thread;" NOFP_FRAMES ";work_read");
	CHECK(folded_sum(tool->out, "blocked", "block_thread;" NOFP_FRAMES) >= 2 * 300000);
	CHECK(folded_sum(tool->out, "nofp", "_start") > 0);
	check_told_complete(tool);
}

/* A program of the distribution's, if there is one: waits in threads, and the stacks are whole. */
TEST(python_threads_blocked_before_the_start_are_complete)
{
	static const char script[] = "import threading, time, sys\n"
				     "e = threading.Event()\n"
				     "for i in range(3): threading.Thread(target=e.wait).start()\n"
				     "print('@ready', flush=True)\n"
				     "sys.stdin.read(1)\n"
				     "e.set()\n"
				     "print('@done', flush=True)\n"
				     "sys.stdin.read()\n";
	struct proc *work, *tool;

	NEED_FILE("/usr/bin/python3", "python3");
	work = work_start_in(NULL, NULL, "/usr/bin/python3", ARGV("python3", "-c", script));
	tool = tool_start("offcputime", "-p", pid_text(work->pid));
	proc_linger(tool, 300);
	work_do(work);
	tool_stop(tool);
	CHECK_STATUS(tool, 0);
	CHECK(folded_sum(tool->out, "python3", NULL) >= 4 * 300000);
	check_told_complete(tool);
}

TEST(forked_children_are_complete_in_the_whole_system)
{
	struct proc *work = work_start("nofp", "kids", "500");
	struct proc *tool = tool_start("profile", "-F", FREQUENCY);

	work_do(work);
	tool_stop(tool);
	check_complete(tool, "kid", "main;stay_in_kids;" NOFP_FRAMES);
	check_complete(tool, "kid", "_start");
}

/*
 * Tables have no room here, so that no stack of either is complete. On arm64 x29 always leads to
 * the next caller that keeps a frame pointer, as those of the C library do.
 */
#ifdef __x86_64__
TEST(the_programs_of_most_incomplete_stacks_are_named)
{
	struct proc *tool = tool_run("profile", "-F", "997", "--unwind-mem", "64K", "--",
				     work_path("nofp"), "spin", "300");

	CHECK_STATUS(tool, 0);
	CHECK_HAS(tool->err, " % through code without unwind information (most: ");
	CHECK_HAS(tool->err, " % nofp)\n");
}
#endif

TEST(a_commands_first_samples_are_complete)
{
	struct proc *tool =
		tool_run("profile", "-F", "997", "--", work_path("nofp"), "spin", "300");

	check_complete(tool, "nofp", "main;just_stay;" NOFP_FRAMES);
}

TEST(a_stack_of_hundreds_of_frames_is_complete)
{
	struct proc *tool = trace_pid("profile", work_start("nofp", "deep", "500"), AUTO);

	check_complete(tool, "nofp", "main;stay_deep;go_deep;go_deep;go_deep;go_deep;go_deep");
	check_complete(tool, "nofp", "go_deep;" NOFP_FRAMES);
	check_told_complete(tool);
}

/* Its return address is in a register while the child has the stack. */
TEST(waiting_for_a_vforked_child_is_complete)
{
	struct proc *tool = trace_pid("offcputime", work_start("nofp", "vfork", "500"), AUTO);

	CHECK(folded_sum(tool->out, "nofp", "main;stay_in_vfork;vfork") +
		      folded_sum(tool->out, "nofp", "main;stay_in_vfork;__vfork") >=
	      400000);
	check_told_complete(tool);
}

/*
 * A program begins, loads its libraries and works while the loader has no CPU for all that. What
 * it needs to walk the stacks afterwards has been kept.
 */
TEST(stacks_from_before_the_tables_are_complete)
{
	struct proc *tool = tool_start("profile", "-F", FREQUENCY), *work;

	kill(tool->pid, SIGSTOP);
	work = work_start("nofp", "spin", "500");
	work_do(work);
	kill(tool->pid, SIGCONT);
	proc_linger(tool, 200);
	tool_stop(tool);
	check_complete(tool, "nofp", "_start");
	check_complete(tool, "nofp", "main;just_stay;" NOFP_FRAMES);
}

/* ---- what the verifier says ---- */

#define MAX_INSNS	 20000
#define MAX_OLD_INSNS	 30000 /* paid by those who trace such a Python */
#define MAX_UPROBE_STACK 64    /* on Linux 7.2 what is beyond gets overwritten */
#define LOG_BYTES	 (1 << 20)
#define LOG_STATS	 4 /* BPF_LOG_STATS */

struct verdict {
	unsigned int n_insns;
	int max_stack; /* of any of its functions */
};

static void set_section(struct bpf_object *object, const char *section, const void *value,
			size_t size)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, object)
		if (strstr(bpf_map__name(map), section))
			bpf_map__set_initial_value(map, value, size);
}

/* As the tools do where they keep something about each task. */
static void choose_task_states(struct bpf_object *object)
{
	bool has_storage = libbpf_probe_bpf_helper(BPF_PROG_TYPE_RAW_TRACEPOINT,
						   BPF_FUNC_task_storage_get, NULL) == 1;
	struct bpf_program *prog = bpf_object__find_program_by_name(
		object, has_storage ? "task_state_exit" : "task_state_free");
	struct bpf_map *map;

	bpf_object__for_each_map(map, object)
		if (!strncmp(bpf_map__name(map), "task_s", 6))
			bpf_map__set_autocreate(map, has_storage == !strstr(bpf_map__name(map),
									    "_by_tid"));
	if (prog)
		bpf_program__set_autoload(prog, false);
	set_section(object, "rodata.task_state", &has_storage, sizeof(has_storage));
}

/* "stack depth 56+0+24": one number per function. */
static int read_stack_list(const char *at)
{
	int max = -1;
	char *end;

	for (at += strlen("stack depth "); isdigit((unsigned char)*at);
	     at = *end == '+' ? end + 1 : "") {
		int depth = (int)strtol(at, &end, 10);

		max = depth > max ? depth : max;
	}
	return max;
}

/*
 * From Linux 7.3 on a line for each: "subprog 1 (name) global insns_self 72 insns_total 72 stack
 * 48".
 */
static int read_max_stack(const char *log)
{
	static const char total[] = " insns_total ";
	const char *at = strstr(log, "stack depth ");
	int max = at ? read_stack_list(at) : -1, depth;

	for (at = log; (at = strstr(at, total)); at += strlen(total))
		if (sscanf(at, " insns_total %*d stack %d", &depth) == 1 && depth > max)
			max = depth;
	return max;
}

static struct verdict read_verdict(const char *log)
{
	const char *at = strstr(log, "processed ");
	struct verdict v = { .max_stack = read_max_stack(log) };

	v.n_insns = at ? (unsigned int)atoi(at + strlen("processed ")) : 0;
	return v;
}

/* Its two halves are programs of their own, and it needs an attach type. */
static void leave_session_out(struct bpf_object *object)
{
	struct bpf_program *prog = bpf_object__find_program_by_name(object, "memleak_session");

	if (prog)
		bpf_program__set_autoload(prog, false);
}

/* It looks symbols up, which not every kernel lets a program do: as the tool does then. */
static void leave_finder_out(struct bpf_object *object)
{
	struct bpf_program *prog = bpf_object__find_program_by_name(object, "kernel_tables_find");

	if (prog && features_kallsyms_lookup())
		bpf_program__set_autoload(prog, false);
}

/* On tracepoints that the kernel doesn't have: of locks, before 5.19. */
static void leave_absent_out(struct bpf_object *object)
{
	struct bpf_program *prog;

	bpf_object__for_each_program(prog, object) {
		const char *name = bpf_program__section_name(prog);

		if (!strncmp(name, "tp_btf/", 7) &&
		    libbpf_find_vmlinux_btf_id(name + 7, BPF_TRACE_RAW_TP) < 0)
			bpf_program__set_autoload(prog, false);
	}
}

enum walking {
	BY_FRAME_POINTERS,
	BY_TABLES,
	WITH_OLD_PYTHON, /* likewise, and Python before 3.11 */
};

/* The largest of an object's programs. False: there is no such file. */
static bool verify(const char *path, enum walking walking, bool only_uprobes, struct verdict *worst)
{
	struct stack_settings stack = { .user = true, .kernel = true };
	static const char *const names[] = { " by frame pointers", "", " with old Python" };
	bool by_cfi = walking != BY_FRAME_POINTERS;
	struct unwind_settings unwind = { unwind_address_bits(), by_cfi };
	struct python_settings python = { .wanted = by_cfi,
					  .old = walking == WITH_OLD_PYTHON,
					  .lines = true };
	struct bpf_object *object = access(path, R_OK) ? NULL : bpf_object__open(path);
	struct bpf_program *prog;
	char *log;

	*worst = (struct verdict){ .max_stack = -1 };
	if (!object)
		return false;
	leave_session_out(object);
	leave_finder_out(object);
	leave_absent_out(object);
	set_section(object, "rodata.stack", &stack, sizeof(stack));
	set_section(object, "rodata.unwind", &unwind, sizeof(unwind));
	set_section(object, "rodata.python", &python, sizeof(python));
	choose_task_states(object);
	bpf_object__for_each_program(prog, object) {
		log = calloc(1, LOG_BYTES); /* freed below, as bpf_program__log_buf() */
		bpf_program__set_log_buf(prog, log, LOG_BYTES);
		bpf_program__set_log_level(prog, LOG_STATS);
	}
	CHECK_EQ(bpf_object__load(object), 0);
	bpf_object__for_each_program(prog, object) {
		size_t size;
		const char *text = bpf_program__log_buf(prog, &size);
		struct verdict v = read_verdict(text);

		if (only_uprobes && bpf_program__type(prog) != BPF_PROG_TYPE_KPROBE)
			v.max_stack = -1;

		printf("%s%s: %s: %u instructions verified, %d bytes of stack\n", path,
		       names[walking], bpf_program__name(prog), v.n_insns, v.max_stack);
		if (v.max_stack < 0)
			printf("the verifier said: %s\n", text);
		worst->n_insns = v.n_insns > worst->n_insns ? v.n_insns : worst->n_insns;
		worst->max_stack = v.max_stack > worst->max_stack ? v.max_stack : worst->max_stack;
		free((void *)text);
	}
	bpf_object__close(object);
	return true;
}

static const char *object_path(const char *name)
{
	return text_of("%s/%s.bpf.o", tool_path("bpf"), name);
}

/* By each way of walking: a few percent of what the verifier would go through. */
static void check_size(const char *name)
{
	static const unsigned int max[] = { MAX_INSNS, MAX_INSNS, MAX_OLD_INSNS };
	const char *path = object_path(name);
	struct verdict verdict;

	if (access(path, R_OK))
		SKIP("no %s", path);
	for (enum walking walking = BY_FRAME_POINTERS; walking <= WITH_OLD_PYTHON; walking++) {
		CHECK(verify(path, walking, false, &verdict));
		CHECK(verdict.n_insns > 0 && verdict.n_insns < max[walking]);
	}
}

TEST(the_verifier_has_little_to_do_in_profile)
{
	check_size("profile");
}

TEST(the_verifier_has_little_to_do_in_waits)
{
	check_size("waits");
}

static bool is_loadable(const char *path)
{
	struct bpf_object *object = bpf_object__open(path);
	bool ok;

	if (object)
		leave_session_out(object);
	ok = object && !bpf_object__load(object);

	bpf_object__close(object);
	return ok;
}

static void check_stacks(const char *name)
{
	const char *path = object_path(name);
	struct verdict v;

	for (enum walking walking = BY_TABLES; walking <= WITH_OLD_PYTHON; walking++) {
		if (!verify(path, walking, true, &v))
			SKIP("no %s", path);
		CHECK(v.max_stack >= 0);
		CHECK(v.max_stack < MAX_UPROBE_STACK);
	}
}

TEST(a_uprobe_programs_functions_have_small_stacks)
{
	bool is_early = !access(object_path("oracle"), R_OK) && !is_loadable(object_path("oracle"));

	check_stacks(is_early ? "oracle_early"
			      : "oracle"); /* before 5.12; make oracle builds them */
}

TEST(memleaks_functions_have_small_stacks)
{
	if (!access(object_path("memleak"), R_OK) && !is_loadable(object_path("memleak")))
		SKIP("it takes Linux 5.12, and says so: see memleak_test");
	check_stacks("memleak");
}
