// SPDX-License-Identifier: GPL-2.0-only
/*
 * User stacks of programs without frame pointers, live: each must be complete, from _start to the
 * innermost function, and named by the file that the process really has.
 */
#include <sys/resource.h>

#include "fuse.h"
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
	check_through(tool, comm, frames, (uint64_t)at_size(50, 500));
}

/* Checks the percentage of complete stacks that the tool itself prints. */
static void check_told_percent(const struct proc *tool, double least)
{
	const char *at = strstr(tool->err, "user stacks: ");

	if (!at || atof(at + strlen("user stacks: ")) < least || !strstr(at, " % complete"))
		UNIT_FAIL("too few are complete: %s", tool->err);
}

/* A thread that exits has no stack at its last switch, and samples are a hundred or two. */
static void check_told_complete(const struct proc *tool)
{
	check_told_percent(tool, at_size(97, 90));
}

/* Traces a workload, whose own samples begin when it is started by work_do(). */
static struct proc *trace_tool(const char *tool_name, struct proc *work, const char *option)
{
	struct proc *tool = strcmp(tool_name, "profile")
				    ? tool_start_on(work, tool_name, option)
				    : tool_start_on(work, tool_name, "-F", FREQUENCY, option);

	work_do(work);
	tool_stop(tool);
	return tool;
}

#define AUTO "--unwind=auto"

TEST(samples_without_frame_pointers_are_complete)
{
	struct proc *tool = trace_tool("profile", work_start("nofp", "spin", "700"), AUTO);

	check_complete(tool, "nofp", "main;just_stay;" NOFP_FRAMES);
	check_complete(tool, "nofp", "_start");
	check_told_complete(tool);
}

TEST(waits_without_frame_pointers_are_complete)
{
	struct proc *tool = trace_tool("offcputime", work_start("nofp", "nap", "700"), AUTO);

	uint64_t slept_us =
		folded_sum(tool->out, "nofp", "main;just_stay;" NOFP_FRAMES ";work_sleep");

	CHECK(slept_us >= 600000 && slept_us <= truth_ms(tool) * 1000 + 10000);
	check_complete(tool, "nofp", "_start");
}

/* This very workload, so that the tests above mean something. */
TEST(frame_pointers_alone_do_not_find_them)
{
	struct proc *tool = trace_tool("profile", work_start("nofp", "spin", "500"), "--unwind=fp");

	CHECK(folded_sum(tool->out, "nofp", NULL) > 0);
	CHECK_EQ(folded_sum(tool->out, "nofp", "main;just_stay;" NOFP_FRAMES), 0);
	CHECK_HAS(tool->err, "by frame pointers");
	tool = trace_tool("offcputime", work_start("nofp", "nap", "300"), "--unwind=fp");
	CHECK(folded_sum(tool->out, "nofp", NULL) > 0);
	CHECK_EQ(folded_sum(tool->out, "nofp", "main;just_stay;" NOFP_FRAMES), 0);
}

TEST(a_signal_frame_is_crossed)
{
	struct proc *tool = trace_tool("profile", work_start("nofp", "signal", "700"), AUTO);

	check_complete(tool, "nofp", "on_signal;" NOFP_FRAMES);
	check_complete(tool, "nofp", "_start");
	check_complete(tool, "nofp", "main;stay_in_handler");
}

static void check_moved(const char *mode, const char *frames)
{
	struct proc *tool = trace_tool("profile", work_start("nofp", mode, "500"), AUTO);

	check_complete(tool, "nofp", frames);
	CHECK_EQ(folded_count(tool->out, "nofp", "[anon]"), 0);
	CHECK_EQ(folded_count(tool->out, "nofp", "[jit]"), 0);
}

/* As programs do that want their code on huge pages. */
TEST(code_that_was_moved_to_memory_is_still_its_files)
{
	check_moved("moved", "main;just_stay;" NOFP_FRAMES);
	check_moved("moves", "main;stay_after_move;just_stay;" NOFP_FRAMES);
}

/* As a library of coroutines leaves it: that is an end, not a frame. */
TEST(a_null_return_address_is_an_end_of_its_own)
{
	struct proc *tool = trace_tool("profile", work_start("nofp", "coroutine", "500"), AUTO);

	check_complete(tool, "nofp", "run_coroutine;just_stay;" NOFP_FRAMES);
	CHECK(lines_from(tool->out, "nofp;run_coroutine;") > 0);
	CHECK_EQ(folded_count(tool->out, "nofp", "[unknown]"), 0);
	CHECK_HAS(tool->err, " % ending in a null return address\n");
}

#define TRAPPED "trap_outer;trap_here;__restore_rt;on_trap;trap_stay"

/*
 * Neither what calls main() in musl nor what calls a thread's function has unwind information; nor
 * have write() and exit(), which last longer in a guest, so the program runs longer there.
 */
static void check_musl(const char *program, const char *thread, const char *frames)
{
	const char *ms = text_of("%d", at_size(700, 1400));
	struct proc *tool = trace_tool("profile", work_start_argv(ARGV(program, ms, thread)), AUTO);

	check_complete(tool, "trap", frames);
	check_told_percent(tool, 95);
}

TEST(threads_and_signals_of_musl_are_complete)
{
	NEED_FILE(work_path("trap-musl-static"), "musl-tools");
	check_musl("trap-musl-static", NULL, "main;" TRAPPED);
	check_musl("trap-musl-static", "thread", "trap_thread;" TRAPPED);
}

/* As most programs have it: stripped, so that only some of its functions have names. */
TEST(threads_and_signals_of_a_shared_musl_are_complete)
{
	NEED_FILE(work_path("trap-musl"), "musl-tools");
	check_musl("trap-musl", NULL, "main;trap_outer;trap_here");
	check_musl("trap-musl", "thread", "trap_thread;trap_outer;trap_here");
}

/* Its functions have no unwind information: what their instructions do is followed. */
static void check_functions_of_musl(const char *tool_name, const char *program)
{
	struct proc *work = work_start(program, text_of("%d", at_size(2100, 700)));
	struct proc *tool = trace_tool(tool_name, work, AUTO);

	CHECK(folded_count(tool->out, NULL, "main;use_for;use_library") > 0);
	check_told_percent(tool, at_size(97, 90));
}

TEST(functions_of_musl_have_their_callers)
{
	NEED_FILE(work_path("library-musl"), "musl-tools");
	check_functions_of_musl("profile", "library-musl");
	check_functions_of_musl("offcputime", "library-musl");
	check_functions_of_musl("profile", "library-musl-static");
	check_functions_of_musl("offcputime", "library-musl-static");
}

TEST(a_library_mapped_while_tracing_is_crossed)
{
	const char *copy = text_of("%s/libcopy", folder_make());
	struct proc *work, *tool;

	CHECK(file_copy(work_path("nofp"), copy));
	work = work_start("nofp", "map", "700", copy);
	tool = trace_tool("profile", work, AUTO);
	check_complete(tool, "nofp", "main;stay_in_copy;nofp_mapped;" NOFP_FRAMES);
	check_complete(tool, "nofp", "_start");
}

TEST(a_program_executed_while_tracing_has_its_own_stacks)
{
	struct proc *work = work_start("nofp", "exec", "700", realpath_of(work_path("other")));
	struct proc *tool = trace_tool("profile", work, AUTO);

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
	check_complete(trace_tool("profile", work, AUTO), "nofp", "main;just_stay;" NOFP_FRAMES);
}

/* /proc/PID has nothing to say about its memory. */
TEST(a_process_whose_main_thread_has_ended_is_complete)
{
	struct proc *tool = trace_tool("profile", work_start("nofp", "leaderless", "700"), AUTO);

	check_complete(tool, "nofp", "run_alone;just_stay;" NOFP_FRAMES);
	tool = trace_tool("offcputime", work_start("nofp", "leaderless", "300"), AUTO);
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

	check_complete(trace_tool("profile", work, AUTO), "nofp", "main;just_stay;" NOFP_FRAMES);
}

/* FUSE file systems can be for their user alone, and root is another one. */
static void check_on_fuse(bool by_namespace)
{
	struct fuse_file file = { folder_make(), "nofp", work_path("nofp"), by_namespace };
	struct proc *work, *tool;

	if (access("/dev/fuse", R_OK | W_OK))
		SKIP("no FUSE");
	work = work_start_in(fuse_mount, &file, text_of("%s/nofp", file.folder),
			     ARGV("nofp", "spin", "500"));
	CHECK(access(text_of("/proc/%d/root%s/nofp", work->pid, file.folder), R_OK));
	tool = trace_tool("profile", work, AUTO);
	check_complete(tool, "nofp", "main;just_stay;" NOFP_FRAMES);
}

TEST(a_program_that_only_its_user_may_read_is_complete)
{
	check_on_fuse(false);
}

TEST(a_program_that_only_its_user_namespace_may_read_is_complete)
{
	check_on_fuse(true);
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
	struct proc *tool = tool_start_on(work, "offcputime");

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
	tool = tool_start_on(work, "offcputime");
	proc_linger(tool, 300);
	work_do(work);
	tool_stop(tool);
	CHECK(folded_sum(tool->out, "python3", NULL) >= 4 * 300000);
	check_told_complete(tool);
}

TEST(forked_children_are_complete_in_the_whole_system)
{
	struct proc *work = work_start("nofp", "kids", "500");
	struct proc *tool = trace_work(work, ARGV("profile", "-F", FREQUENCY));

	check_complete(tool, "nofp-kid", "main;stay_in_kids;" NOFP_FRAMES);
	check_complete(tool, "nofp-kid", "_start");
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

	CHECK_HAS(tool->err, " % through code without unwind information");
	CHECK_HAS(tool->err, " % nofp)\n");
}
#endif

TEST(a_commands_first_samples_are_complete)
{
	struct proc *tool =
		tool_run("profile", "-F", "997", "--", work_path("nofp"), "spin", "1500");

	check_complete(tool, "nofp", "main;just_stay;" NOFP_FRAMES);
}

TEST(a_stack_of_hundreds_of_frames_is_complete)
{
	struct proc *tool = trace_tool("profile", work_start("nofp", "deep", "500"), AUTO);

	check_complete(tool, "nofp", "main;stay_deep;go_deep;go_deep;go_deep;go_deep;go_deep");
	check_complete(tool, "nofp", "go_deep;" NOFP_FRAMES);
	check_told_complete(tool);
}

/* Its return address is in a register while the child has the stack. */
TEST(waiting_for_a_vforked_child_is_complete)
{
	struct proc *tool = trace_tool("offcputime", work_start("nofp", "vfork", "500"), AUTO);

	CHECK(folded_sum(tool->out, "nofp", "main;stay_in_vfork;vfork") +
		      folded_sum(tool->out, "nofp", "main;stay_in_vfork;__vfork") >=
	      400000);
	check_told_complete(tool);
}

static bool join_cgroup_first(void *cgroup)
{
	return !setpriority(PRIO_PROCESS, 0, -20) && join_cgroup(cgroup);
}

/*
 * A program begins, loads its libraries and works while the loader has no CPU for all that. What
 * it needs to walk the stacks afterwards is there, unless events of other processes fill the
 * buffers: so the program has the highest priority.
 */
static struct proc *trace_late(const char *const argv[], struct proc **work)
{
	const char *cgroup = cgroup_make("late");
	struct proc *tool = tool_start("profile", "-F", FREQUENCY, "--cgroup", cgroup);

	kill(tool->pid, SIGSTOP);
	*work = work_start_in(join_cgroup_first, (void *)cgroup, work_path(argv[0]), argv);
	work_do(*work);
	kill(tool->pid, SIGCONT);
	tool_stop(tool);
	return tool;
}

TEST_UNLESS(cgroups_lack, stacks_from_before_the_tables_are_complete)
{
	struct proc *work, *tool = trace_late(ARGV("nofp", "spin", "500"), &work);

	check_complete(tool, "nofp", "_start");
	check_complete(tool, "nofp", "main;just_stay;" NOFP_FRAMES);
}

/* ---- return probes of another tracer ---- */

#define RETURNS "main;ret_outer;ret_leaf;ret_work"

static bool has_probes(const struct proc *work)
{
	return work_value(work->out, "returns", "probes") == 4;
}

static struct proc *trace_returns(const char *tool_name, const char *option)
{
	struct proc *work = work_start("returns", "20");

	return has_probes(work) ? trace_tool(tool_name, work, option) : NULL;
}

TEST(calls_under_return_probes_have_their_callers)
{
	struct proc *tool = trace_returns("offcputime", AUTO);

	if (!tool)
		SKIP("no return probes by perf events here");
	check_complete(tool, "ret-nap", RETURNS);
	CHECK(folded_sum(tool->out, "returns", RETURNS ";work_wait_go") > 0); /* from before */
	CHECK_EQ(folded_sum(tool->out, "returns", "work_wait_go"),
		 folded_sum(tool->out, "returns", RETURNS ";work_wait_go"));
	check_told_complete(tool);
	tool = trace_returns("profile", AUTO);
	check_complete(tool, "ret-spin", RETURNS);
	check_told_complete(tool);
}

TEST(calls_under_return_probes_have_callers_by_frame_pointers)
{
	struct proc *tool = trace_returns("offcputime", "--unwind=fp");

	if (!tool)
		SKIP("no return probes by perf events here");
	check_complete(tool, "ret-nap", "main;ret_outer;ret_leaf");
	CHECK(folded_sum(tool->out, "returns", "main;ret_outer;ret_leaf;ret_work") > 0);
}

TEST_UNLESS(cgroups_lack, copies_have_the_callers_of_calls_under_return_probes)
{
	struct proc *work, *tool = trace_late(ARGV("returns", "20"), &work);

	if (!has_probes(work))
		SKIP("no return probes by perf events here");
	check_complete(tool, "ret-spin", RETURNS);
}

/*
 * Samples in the middle of a probe, where registers are not those of the program's own code, have
 * all callers or none. A frame is missing where one is found by guessing.
 */
TEST(threads_in_the_middle_of_probes_have_all_callers_or_none)
{
	struct proc *work = work_start("returns", "50", "calls"), *tool;
	uint64_t all, through;

	if (work_value(work->out, "returns", "probes") != 2)
		SKIP("no return probes by perf events here");
	tool = trace_tool("profile", work, AUTO);
	all = folded_sum(tool->out, "ret-call", NULL);
	through = folded_sum(tool->out, "ret-call", "main;ret_calls");
	CHECK(through * 2 > all);
	CHECK_EQ(folded_sum(tool->out, "ret-call", "main"), through);
}

/*
 * A child that has its parent's tables, but not those of what it has mapped since, becomes another
 * program while the loader has no CPU. By the tables of that one the way ends where it has other
 * memory. Where the kernel had no room for events, there may be no way at all.
 */
TEST(stacks_from_before_an_exec_are_not_those_of_the_program_behind)
{
	struct proc *work = work_start("reborn", "200"), *tool;

	tool = tool_start_on(work, "profile", "-F", "997", "--follow");
	kill(tool->pid, SIGSTOP);
	work_do(work);
	kill(tool->pid, SIGCONT);
	tool_stop(tool);
	CHECK(folded_sum(tool->out, "kid", "reborn_spin") > 0);
	CHECK_EQ(folded_sum(tool->out, "kid", "reborn_mapped"),
		 folded_sum(tool->out, "kid", "main;spin_in_copy;reborn_mapped"));
	CHECK_EQ(folded_count(tool->out, "kid", "[anon]"), 0);
	check_complete(tool, "executed", "main;spin_again;reborn_spin");
}
