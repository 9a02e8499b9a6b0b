// SPDX-License-Identifier: GPL-2.0-only
/*
 * The command line that all tools share, live: what is refused and how, how a run ends, where the
 * output goes, and that the command lines of BCC's manual pages work.
 */
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "../random.h"
#include "live.h"

static const char *const tools[] = { "runqlat", "offcputime", "profile" };

/* Also the tools that are less alike. */
static const char *const all_tools[] = { "runqlat",    "offcputime", "profile", "syscount",
					 "pagefaults", "memleak",    "biolat" };

#define for_each_tool(name) \
	for (const char *name, *const *t_ = tools; t_ < tools + 3 && (name = *t_); t_++)

/* ---- refused command lines ---- */

TEST(a_thread_is_not_taken_for_a_process)
{
	struct proc *work = work_start("crowd", "1", "1");
	const char *tid;

	work_do(work);
	tid = text_of("%d", (int)work_value(work->out, "late", "tid"));
	for_each_tool(name)
	{
		CHECK_REFUSED("--tid", name, "-p", tid);
	}
}

/* ---- what the system lacks ---- */

static bool hide_btf(void *arg)
{
	(void)arg;
	return enter_mount_namespace() && !mount("none", "/sys/kernel/btf", "tmpfs", 0, NULL);
}

TEST(without_type_information_a_tool_says_so)
{
	for_each_tool(name)
	{
		struct proc *tool = tool_try_in(hide_btf, NULL, name, "1");

		if (tool->status == SETUP_FAILED)
			SKIP("/sys/kernel/btf can't be hidden");
		CHECK_FAILURE(tool, "CONFIG_DEBUG_INFO_BTF");
	}
}

static bool hide_sysfs(void *arg)
{
	(void)arg;
	return enter_mount_namespace() && !mount("none", "/sys", "tmpfs", 0, NULL);
}

/* As in a chroot or a container. */
TEST(without_sysfs_a_tool_blames_no_kernel)
{
	struct proc *tool = tool_try_in(hide_sysfs, NULL, "runqlat", "1");

	if (tool->status == SETUP_FAILED)
		SKIP("/sys can't be hidden");
	CHECK_FAILURE(tool, "mount sysfs");
	CHECK_LACKS(tool->err, "CONFIG_DEBUG_INFO_BTF");
}

/* memleak traces the whole system's memory, as it needs probes otherwise. */
TEST(a_file_stands_in_for_hidden_type_information)
{
	const char *path = text_of("%s/kernel.btf", folder_make());

	if (!file_copy("/sys/kernel/btf/vmlinux", path))
		SKIP("no type information to copy");
	for (size_t i = 0; i < ARRAY_SIZE(all_tools); i++) {
		struct proc *tool = tool_try_in(hide_btf, NULL, all_tools[i], "--btf", path,
						"--duration", "100ms");

		if (tool->status == SETUP_FAILED)
			SKIP("/sys/kernel/btf can't be hidden");
		if (!strcmp(all_tools[i], "memleak") && tool->status &&
		    strstr(tool->err, "needs Linux"))
			continue;
		CHECK_STATUS(tool, 0);
		CHECK_LACKS(tool->err, "CONFIG_DEBUG_INFO_BTF");
	}
}

TEST(a_file_without_type_information_is_refused)
{
	const char *fifo = text_of("%s/fifo", folder_make());

	if (mkfifo(fifo, 0600))
		SKIP("no FIFO can be made");
	CHECK_FAILS("not a regular file", "runqlat", "--btf", fifo, "100ms", "1");
	CHECK_FAILS("/bin/true: contains no type information", "runqlat", "--btf", "/bin/true",
		    "100ms", "1");
	CHECK_FAILS("/nonexistent: No such file", "runqlat", "--btf", "/nonexistent", "100ms", "1");
}

/* Events that not all kernels have. Beside processes that begin and end: they take memory. */
TEST(what_is_chosen_by_types_goes_by_the_file_of_them)
{
	const char *path = text_of("%s/kernel.btf", folder_make());
	struct proc *work = work_start("brief", "100000", "2"), *tool;
	bool has_events;

	if (!file_copy("/sys/kernel/btf/vmlinux", path))
		SKIP("no type information to copy");
	tool = tool_run("locks", "--duration", "100ms");
	has_events = !strstr(tool->err, "no contention tracepoints");
	tool = tool_try_in(hide_btf, NULL, "locks", "--btf", path, "--duration", "100ms");
	if (tool->status == SETUP_FAILED)
		SKIP("/sys/kernel/btf can't be hidden");
	CHECK_EQ(!strstr(tool->err, "no contention tracepoints"), has_events);
	work_go(work);
	tool = tool_try_in(hide_btf, NULL, "memleak", "--btf", path, "--duration", "1");
	proc_kill(work);
	if (!memleak_lacks()) {
		CHECK_STATUS(tool, 0);
		CHECK_LACKS(tool->err, "memleak: 0 calls traced");
	}
}

TEST(an_output_that_cannot_be_written_is_an_error)
{
	CHECK_FAILS("/nonexistent/x.txt", "runqlat", "--output", "/nonexistent/x.txt", "1");
}

/* ---- how a run ends ---- */

TEST(signals_end_a_run_with_its_report)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };

	for_each_tool(name)
	{
		for (int i = 0; i < 3; i++) {
			struct proc *tool = tool_start(name);

			proc_linger(tool, 200);
			proc_signal(tool, signals[i]);
			tool_finish(tool);
			CHECK(tool->out_bytes > 0 || truth_value(tool) == 0);
			CHECK(truth_ms(tool) != UINT64_MAX);
		}
	}
}

/* The second table of counts has no descriptor left: that is no good end. */
TEST(a_report_that_fails_ends_the_run_as_a_failure)
{
	struct rlimit none = { 3, 3 };
	struct proc *tool = tool_start("runqlat", "-P", "--interval", "3s"); /* after this: */

	CHECK_EQ(prlimit(tool->pid, RLIMIT_NOFILE, &none, NULL), 0);
	proc_finish(tool);
	CHECK_STATUS(tool, 1);
	CHECK_HAS(tool->err, "creating the second buffer failed");
}

#define MANY_TARGETS 67

static void start_targets(pid_t pids[MANY_TARGETS])
{
	for (int i = 0; i < MANY_TARGETS; i++) {
		pids[i] = fork();
		if (pids[i])
			continue;
		for (;;)
			pause();
	}
}

static const char *list_of(const pid_t pids[MANY_TARGETS])
{
	const char *list = pid_text(pids[0]);

	for (int i = 1; i < MANY_TARGETS; i++)
		list = text_of("%s,%d", list, (int)pids[i]);
	return list;
}

static void end_targets(const pid_t *pids, int n)
{
	for (int i = 0; i < n; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
}

TEST(every_tool_takes_many_targets)
{
	pid_t pids[MANY_TARGETS];

	for (size_t i = 0; i < 5; i++) { /* memleak probes each on its own */
		struct proc *tool;

		start_targets(pids);
		tool = tool_start(all_tools[i], "-p", list_of(pids));
		end_targets(pids, MANY_TARGETS - 1);
		proc_linger(tool, 100);
		CHECK(!tool->has_ended);
		end_targets(pids + MANY_TARGETS - 1, 1);
		tool_finish(tool);
		CHECK_HAS(tool->err, "all targets have exited\n");
		CHECK(truth_ms(tool) < 60000);
	}
}

/* A child that has ended, and that its parent, this test, has not asked for its status. */
TEST(a_zombie_is_called_one)
{
	pid_t pid = fork();
	siginfo_t info;

	if (!pid)
		_exit(0);
	waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
	CHECK_REFUSED("zombie", "runqlat", "-p", pid_text(pid));
	CHECK_FAILS("zombie", "dump", "-p", pid_text(pid));
	waitpid(pid, NULL, 0);
}

/* ---- what is executed ---- */

/* The tool may open more files than the shell it was started from. */
TEST(a_command_has_the_limits_of_whoever_started_the_tool)
{
	struct rlimit files;

	getrlimit(RLIMIT_NOFILE, &files);
	CHECK_HAS(tool_run("syscount", "--quiet", "--output", "/dev/null", "--", "sh", "-c",
			   "echo files $(ulimit -n)")
			  ->out,
		  text_of("files %llu\n", (unsigned long long)files.rlim_cur));
}

TEST(a_command_that_can_not_be_held_is_told_of)
{
	struct forbidden_call seize = { SYS_ptrace, PTRACE_SEIZE };
	struct proc *tool = tool_try_in(forbid_call, &seize, "syscount", "--", "true");

	if (tool->status == SETUP_FAILED)
		SKIP("no seccomp");
	CHECK_STATUS(tool, 0);
	CHECK_HAS(tool->err,
		  "command: its start is not traced, because it can't be stopped at exec: ");
	CHECK_LACKS(tool_run("syscount", "--", "true")->err, "can't be stopped at exec");
}

/* The report that is peeked at is in the last one again. */
TEST(sigusr1_shows_a_report_and_goes_on)
{
	struct proc *work = work_start("pingpong", "101");
	struct proc *tool = tool_start_on(work, "runqlat");
	uint64_t first, sum;

	work_do(work);
	proc_signal(tool, SIGUSR1);
	CHECK(proc_wait_for(tool, "count "));
	first = hist_count_of(tool->out, NULL);
	CHECK(!tool->has_ended);
	tool_stop(tool);
	sum = hist_count_of(tool->out, NULL);
	CHECK(first > 0);
	CHECK_EQ(sum, 2 * first);
	CHECK_EQ(truth_value(tool), first);
}

/* Reports that are peeked at: text beside the output if the format totals equal lines. */
static const struct {
	const char *format, *seen, *line;
	bool is_beside;
} peeks[] = {
	{ "folded", "    plan_nap\n", "plan_run;plan_nap", true },
	{ "text", "    plan_nap\n", "    plan_nap", false },
	{ "csv", "plan_run;plan_nap", "plan_run;plan_nap", false },
};

TEST(sigusr1_shows_stacks_in_every_format)
{
	for (size_t i = 0; i < ARRAY_SIZE(peeks); i++) {
		struct proc *work = work_start("plan", "1", "13", "2", "0");
		struct proc *tool = tool_start_on(work, "offcputime", "--format", peeks[i].format,
						  "--state", "S");

		work_do(work);
		proc_signal(tool, SIGUSR1);
		CHECK(proc_wait_for(tool, peeks[i].seen));
		proc_linger(tool, 200);
		CHECK_CASE(peeks[i].format, !tool->out_bytes, peeks[i].is_beside);
		CHECK_LACKS(tool->err, "plan-0 (0)");
		tool_stop(tool);
		CHECK(lines_with(tool->out, peeks[i].line) >= (peeks[i].is_beside ? 1 : 2));
		CHECK(!peeks[i].is_beside || folded_is_sane(tool->out));
		CHECK_EQ(count_in(tool->out, "type,start_unix_ns,"),
			 !strcmp(peeks[i].format, "csv"));
	}
}

/* A run that writes nothing before its end learns of a closed pipe by the hangup. */
TEST(a_closed_pipe_ends_a_run_quietly)
{
	static const char *const intervals[] = { "100ms", "1h" };

	for_each_tool(name)
	{
		for (int i = 0; i < 2; i++) {
			struct proc *tool = tool_start(name, "--interval", intervals[i]);
			size_t said = tool->err_bytes;

			proc_close_out(tool);
			tool_finish(tool);
			CHECK_LACKS(tool->err + said, "roken pipe");
			CHECK_LACKS(tool->err + said, "write failed");
			CHECK_LACKS(tool->err, " s, Linux ");
		}
	}
}

/* Waits until the tool is blocked in writing to its standard output, which nobody reads. */
static void wait_until_full(const struct proc *tool)
{
	const char *path = text_of("/proc/%d/syscall", tool->pid);
	const char *call = text_of("%d 0x1 ", SYS_write), *now = "";

	for (int i = 0; i < 600 && strncmp(now, call, strlen(call)) != 0; i++) {
		usleep(100000);
		now = file_read(path);
		now = now ? now : "";
	}
	CHECK_HAS(now, call);
}

static bool has_ended_meanwhile(const struct proc *proc)
{
	siginfo_t info = {};

	return !waitid(P_PID, (id_t)proc->pid, &info, WEXITED | WNOWAIT | WNOHANG) && info.si_pid;
}

/* It can't notice a signal, so that another one ends it. */
TEST(who_reads_no_more_does_not_keep_a_run_alive)
{
	struct proc *work = work_start("pingpong", "1000000");
	struct proc *tool = tool_start("runqlat", "--interval", "10ms");

	work_go(work);
	CHECK(fcntl(tool->out_fd, F_SETPIPE_SZ, 4096) > 0);
	wait_until_full(tool);
	for (int i = 0; i < 100 && !has_ended_meanwhile(tool); i++) {
		proc_signal(tool, SIGTERM);
		usleep(300000);
	}
	CHECK(has_ended_meanwhile(tool));
	CHECK_EQ(proc_finish(tool), -SIGTERM);
	proc_kill(work);
}

static int nice_of(pid_t pid)
{
	errno = 0;
	return getpriority(PRIO_PROCESS, (id_t)pid);
}

/* Else it would wait for its turn on a busy machine. It can't end before its report is read. */
TEST(the_priority_is_high_from_begin_to_end)
{
	struct proc *work, *tool;

	for_each_tool(name)
	{
		tool = tool_start(name);
		CHECK_EQ(nice_of(tool->pid), -20);
		tool_stop(tool);
	}
	work = work_start("tree", "8", "nap", "10");
	tool = tool_start_on(work, "offcputime", "-f");
	CHECK(fcntl(tool->out_fd, F_SETPIPE_SZ, 4096) > 0);
	work_do(work);
	proc_signal(tool, SIGINT);
	wait_until_full(tool);
	CHECK_EQ(nice_of(tool->pid), -20);
	tool_finish(tool);
}

/* ---- signals at any moment, on a busy machine ---- */

#define MOMENTS	   18
#define MOMENTS_MS 1000 /* tracing begins after half of that or less, where nothing else runs */
#define HOGS	   6
#define HERE	   "--cgroup", cgroup
#define AFTER_MS   6000

static pid_t start_hog(void)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		continue;
}

/* By all of its threads; 0: it has ended. */
static uint64_t cpu_ms_of(pid_t pid)
{
	const char *text = file_read(text_of("/proc/%d/stat", pid)), *at;
	unsigned long long user = 0, system = 0;

	at = text ? strrchr(text, ')') : NULL;
	if (!at || sscanf(at, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &user,
			  &system) != 2)
		return 0;
	return (user + system) * 1000 / (unsigned long long)sysconf(_SC_CLK_TCK);
}

/* It may not have begun to catch signals. */
static void check_end(const char *const argv[], unsigned int delay_ms)
{
	struct proc *tool = tool_launch_in(NULL, NULL, argv);
	uint64_t before_ms;

	proc_linger(tool, (int)delay_ms);
	before_ms = cpu_ms_of(tool->pid);
	proc_signal(tool, SIGINT);
	proc_finish(tool);
	if (tool->status != -SIGINT)
		CHECK_STATUS(tool, 0);
	if (tool->cpu_ms > before_ms + (uint64_t)at_size(AFTER_MS, 20 * AFTER_MS))
		UNIT_FAIL("%s: %llu ms of CPU after a signal that came after %u ms", tool->name,
			  (unsigned long long)(tool->cpu_ms - before_ms), delay_ms);
	proc_free(tool);
}

/*
 * How long it takes depends on what else runs, so the tool's own work is measured. SIGNALS=N: so
 * many moments.
 */
TEST_UNLESS(cgroups_lack, a_signal_at_any_moment_ends_a_run_without_much_work)
{
	struct proc *brief = work_start("brief", "1000000", "2", "/bin/true");
	const char *cgroup = cgroup_make("brief");
	const char *const lines[][8] = {
		{ "profile", HERE, "-f" },
		{ "profile", HERE, "--wall", "--interval", "1s" },
		{ "offcputime", HERE, "--format", "json", "--interval", "1s" },
		{ "locks", HERE, "--interval", "1s" },
		{ "pagefaults", HERE, "--without", "nothing" },
		{ "pagefaults", HERE, "--format", "json", "--interval", "1s" },
		{ "runqlat", HERE, "-P" },
		{ "biolat", HERE, "-f" },
		{ "syscount", HERE, "-L", "-P" },
		{ "memleak", "-p", pid_text(brief->pid) },
	};
	int n_lines = (int)(sizeof(lines) / sizeof(*lines)) - (memleak_lacks() != NULL);
	const char *wanted = getenv("SIGNALS");
	int n = wanted ? atoi(wanted) : at_size(MOMENTS, 9);
	pid_t hogs[HOGS];

	CHECK(cgroup_add(cgroup, brief->pid));
	printf("seed %llu, %d moments\n", (unsigned long long)random_state, n);
	for (int i = 0; i < HOGS; i++)
		hogs[i] = start_hog();
	work_go(brief);
	for (int i = 0; i < n; i++)
		check_end(lines[i % n_lines], (unsigned int)(random_u64() % MOMENTS_MS));
	proc_kill(brief);
	for (int i = 0; i < HOGS; i++) {
		kill(hogs[i], SIGKILL);
		waitpid(hogs[i], NULL, 0);
	}
}

TEST(a_duration_ends_a_run)
{
	struct proc *tool = tool_run("offcputime", "300ms");

	CHECK(truth_ms(tool) >= 300);
	tool = tool_run("runqlat", "--duration", "300ms", "--interval", "100ms");
	CHECK(lines_from(tool->out, "count ") >= 1); /* a tool that is late leaves reports out */
	CHECK(lines_from(tool->out, "count ") <= 3);
}

/* ---- commands ---- */

TEST(a_command_is_traced_and_ends_the_run)
{
	for_each_tool(name)
	{
		struct proc *tool = tool_run(name, "--", work_path("plan"), "1", "7", "3", "31");

		CHECK_HAS(tool->out, "@done\n");
		CHECK(truth_value(tool) > 0);
	}
}

TEST(a_command_that_is_not_there_is_an_error)
{
	for_each_tool(name)
	{
		CHECK_FAILS("/nonexistent/command: exec failed: No such file", name, "--",
			    "/nonexistent/command");
	}
}

TEST(a_command_ends_with_the_run)
{
	struct proc *tool = tool_start("runqlat", "--", work_path("spin"));

	CHECK(proc_wait_for(tool, "@ready\n"));
	tool_stop(tool);
	CHECK_EQ(lines_from(tool->out, "count "), 1);
}

/* ---- where the output goes ---- */

TEST(the_extension_of_the_output_is_its_format)
{
	const char *folder = folder_make(), *path = text_of("%s/x.folded", folder);
	struct proc *work = work_start("pingpong", "101");
	struct proc *tool = tool_run_on(work, "offcputime", "--output", path, "300ms");

	CHECK_STR(tool->out, "");
	CHECK(file_read(path) && folded_count(file_read(path), "wakee", "work_wait_go") == 1);
	path = text_of("%s/x.txt", folder);
	tool = tool_run_on(work, "offcputime", "--output", path, "300ms");
	CHECK_STR(tool->out, "");
	CHECK(file_read(path) && strstr(file_read(path), "    work_wait_go\n"));
	CHECK(file_read(path) && folded_count(file_read(path), NULL, "work_wait_go") == 0);
	path = text_of("%s/x.svg", folder);
	tool_run_on(work, "offcputime", "--output", path, "300ms");
	CHECK(file_read(path) && strstr(file_read(path), "<title>work_wait_go ("));
}

/* Freed memory is overwritten, so that a file which is closed can't be used by mistake. */
static bool overwrite_freed(void *arg)
{
	(void)arg;
	return !setenv("MALLOC_PERTURB_", "165", 1);
}

TEST(lines_go_into_the_file_of_their_interval)
{
	const char *folder = folder_make(), *path = text_of("%s/x.txt", folder);

	tool_run_in(overwrite_freed, NULL, "runqlat", "--slower", "1us", "--output", path, "100ms",
		    "3");
	for (int i = 1; i <= 3; i++) {
		path = text_of("%s/x.%03d.txt", folder, i);
		CHECK(file_read(path) && strstr(file_read(path), "\n"));
	}
}

/* A file of an earlier run stays as it is until there is a better one. */
TEST(a_run_that_fails_leaves_the_file_alone)
{
	const char *folder = folder_make(), *path = text_of("%s/x.txt", folder);
	const char *before;
	struct proc *tool;

	tool_run("runqlat", "--output", path, "-p", "1", "--duration", "100ms");
	before = file_read(path);
	tool = tool_try("runqlat", "--output", path, "--", "/nonexistent/command");
	CHECK_STATUS(tool, 1);
	CHECK_STR(file_read(path), before);
	CHECK_EQ(folder_count(folder), 1);
}

TEST(a_pipe_gets_folded_stacks_and_a_format_prevails)
{
	struct proc *work = work_start("pingpong", "101");
	struct proc *tool = tool_run_on(work, "offcputime", "300ms");

	CHECK_EQ(folded_count(tool->out, "wakee", "work_wait_go"), 1);
	tool = tool_run_on(work, "offcputime", "--format", "text", "300ms");
	CHECK_HAS(tool->out, "    work_wait_go\n");
	tool = tool_run_on(work, "offcputime", "-f", "300ms");
	CHECK_EQ(folded_count(tool->out, "wakee", "work_wait_go"), 1);
}

/* Least of all of what libbpf tries on the way. */
TEST(verbose_has_no_warnings)
{
	for (size_t i = 0; i < ARRAY_SIZE(all_tools); i++) {
		struct proc *tool = tool_try(all_tools[i], "-v", "--duration", "100ms");

		CHECK_LACKS(tool->err, "incorrectly");
	}
}

TEST(quiet_says_nothing_but_losses)
{
	struct proc *work = work_start("pingpong", "1");

	for_each_tool(name)
	{
		struct proc *tool = tool_run_on(work, name, "--quiet", "--duration", "100ms");

		CHECK_EQ(lines_with(tool->err, ": "), lines_with(tool->err, " lost: "));
	}
}

/* ---- BCC's examples ---- */

/* Examples from BCC's manual pages. "PID" stands for a process. */
static const char *const bcc_examples[][8] = {
	{ "runqlat" },
	{ "runqlat", "1", "10" },
	{ "runqlat", "-mT", "1" },
	{ "runqlat", "-P", "185", "1" },
	{ "runqlat", "-L" },
	{ "runqlat", "--pidnss", "-T", "1" },
	{ "offcputime" },
	{ "offcputime", "5" },
	{ "offcputime", "-f", "5" },
	{ "offcputime", "-m", "1000", "5" },
	{ "offcputime", "-M", "1000", "5" },
	{ "offcputime", "-p", "PID" },
	{ "offcputime", "-t", "PID" },
	{ "offcputime", "-u" },
	{ "offcputime", "-k" },
	{ "offcputime", "-df", "-p", "PID", "5" },
	{ "profile" },
	{ "profile", "5" },
	{ "profile", "-F", "99", "5" },
	{ "profile", "-c", "1000000", "5" },
	{ "profile", "-p", "PID" },
	{ "profile", "-L", "PID" },
	{ "profile", "-df", "5" },
	{ "profile", "-K" },
	{ "syscount" },
	{ "syscount", "-P" },
	{ "syscount", "-x" },
	{ "syscount", "-e", "EPERM" },
	{ "syscount", "-p", "PID" },
	{ "syscount", "-L" },
	{ "syscount", "-i", "1", "-T", "5", "-Lm" },
	{ "syscount", "-t", "PID" },
	{ "syscount", "--syscall", "read" },
};

TEST(examples_of_bcc_run)
{
	const char *pid = pid_text(work_start("pingpong", "1")->pid), *argv[8] = {};

	for (size_t i = 0; i < ARRAY_SIZE(bcc_examples); i++) {
		for (size_t k = 0; k < 8; k++)
			argv[k] = bcc_examples[i][k] && !strcmp(bcc_examples[i][k], "PID")
					  ? pid
					  : bcc_examples[i][k];
		tool_stop(tool_start_argv(argv));
	}
}
