// SPDX-License-Identifier: GPL-2.0-only
/* Tests of the tools without root, with capabilities: each row of tracelets(8), PRIVILEGES. */
#include <linux/capability.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "live.h"

#define BIT(n)	   (1ULL << (n))
#define BPF	   BIT(39)
#define PERFMON	   BIT(38)
#define PTRACE	   BIT(CAP_SYS_PTRACE)
#define DAC	   BIT(CAP_DAC_READ_SEARCH)
#define SYSLOG	   BIT(CAP_SYSLOG)
#define CHECKPOINT BIT(40)

#define NOBODY 65534

#define PARANOID "/proc/sys/kernel/perf_event_paranoid"

static bool set_capabilities(uint64_t caps)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2];

	for (int i = 0; i < 2; i++) {
		uint32_t half = (uint32_t)(caps >> 32 * i);

		data[i] = (struct __user_cap_data_struct){ half, half, half };
	}
	return !syscall(SYS_capset, &header, data);
}

/* arg: the capabilities that a user has, through execve(2) too. */
static bool become_user(void *arg)
{
	const struct rlimit any = { RLIM_INFINITY, RLIM_INFINITY }; /* for Linux before 5.11 */
	uint64_t caps = *(uint64_t *)arg;

	setrlimit(RLIMIT_MEMLOCK, &any);

	if (prctl(PR_SET_KEEPCAPS, 1) || setgid(NOBODY) || setuid(NOBODY) ||
	    !set_capabilities(caps))
		return false;
	for (unsigned long i = 0; i < 64; i++)
		if (caps >> i & 1 && prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, i, 0, 0))
			return false;
	return true;
}

/* The tool where everybody can reach it. */
static const char *copy_tool(const char *name)
{
	const char *folder = folder_make(), *path = text_of("%s/%s", folder, name);

	CHECK(!chmod(folder, 0755) && file_copy(tool_path(name), path) && !chmod(path, 0755));
	return path;
}

static struct proc *run_as_user(uint64_t caps, const char *tool, const char *duration)
{
	return tool_try_in(become_user, &caps, copy_tool(tool), "--duration", duration);
}

static const char *const tools[] = { "profile", "offcputime", "runqlat",
				     "biolat",	"syscount",   "pagefaults" };

TEST(what_is_missing_is_named)
{
	for (size_t i = 0; i < ARRAY_SIZE(tools); i++) {
		struct proc *tool = run_as_user(0, tools[i], "100ms");

		if (tool->status == 127)
			SKIP("an ordinary user can't reach the tools");
		CHECK_FAILURE(tool, "hint: grant CAP_BPF, CAP_PERFMON, or run as root");
	}
	CHECK_HAS(run_as_user(BPF, "runqlat", "100ms")->err, "hint: grant CAP_PERFMON, or");
	CHECK_HAS(run_as_user(PERFMON, "runqlat", "100ms")->err, "hint: grant CAP_BPF, or");
}

static void set_paranoid(int level)
{
	CHECK(file_write(PARANOID, text_of("%d\n", level)));
}

static int usual_level;

static void restore_paranoid(void)
{
	set_paranoid(usual_level);
}

/* Debian's kernels, at 3. The tests below are about the others, and about 2. */
TEST(a_kernel_to_which_two_are_not_enough_is_named)
{
	struct proc *tool;

	usual_level = atoi(file_read(PARANOID));
	atexit(restore_paranoid);
	set_paranoid(3);
	tool = run_as_user(BPF | PERFMON, "profile", "100ms");
	set_paranoid(usual_level < 2 ? usual_level : 2);
	if (!tool->status)
		SKIP("two are enough to this kernel");
	CHECK_HAS(tool->err, "perf_event_paranoid to 2 (now 3)");
}

TEST(two_capabilities_are_enough_for_all_events)
{
	for (int i = 0; i < 5; i++) {
		struct proc *tool = run_as_user(BPF | PERFMON, tools[i], "300ms");

		CHECK_STATUS(tool, 0);
		CHECK_HAS(tool->err, "without CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH, CAP_SYSLOG, "
				     "CAP_CHECKPOINT_RESTORE: ");
	}
}

static bool become_user_of_little_memory(void *caps)
{
	const struct rlimit little = { 4096, 4096 };

	return become_user(caps) && !setrlimit(RLIMIT_MEMLOCK, &little);
}

/* Before 5.11, where BPF takes it; other kernels don't ask for any. */
TEST(locked_memory_that_is_short_is_named)
{
	uint64_t caps = BPF | PERFMON;

	for (int i = 0; i < 5; i++) {
		struct proc *tool = tool_try_in(become_user_of_little_memory, &caps,
						copy_tool(tools[i]), "--duration", "100ms");

		CHECK(!tool->status == !strstr(tool->err, "ulimit -l"));
	}
}

/* Counted in full, though it is root's. */
TEST(a_user_counts_what_root_counts)
{
	uint64_t caps = BPF | PERFMON;
	struct proc *work = work_start("pingpong", "101");
	struct proc *tool = tool_launch_in(become_user, &caps,
					   ARGV(copy_tool("runqlat"), "-p", pid_text(work->pid)));
	uint64_t before = task_switches(work->pid, 0);

	CHECK(proc_wait_for(tool, "tracing..."));
	work_do(work);
	before = task_switches(work->pid, 0) - before;
	tool_stop(tool);
	CHECK(before > 100);
	CHECK_SWITCHES(hist_count_of(tool->out, NULL), before);
}

/* It has been blocked since before the tracing, so its stack is read from outside. */
TEST(what_may_not_be_read_is_not_said_to_be_swapped_out)
{
	uint64_t caps = BPF | PERFMON;
	struct proc *work = work_start("pingpong", "101");
	struct proc *tool = tool_run_in(become_user, &caps, copy_tool("offcputime"), "-p",
					pid_text(work->pid), "--duration", "300ms");

	CHECK_LACKS(tool->err, "not resident");
	CHECK_HAS(tool->err, "100.00 % not readable without CAP_SYS_PTRACE");
}

/*
 * Returns true if a profile of the process has the names of its functions. Tries again: in an
 * emulator, whose CPUs take turns, the process may not have run in a while.
 */
static bool has_names(uint64_t caps, struct proc *work)
{
	struct proc *tool;
	int tries = 20;

	do {
		tool = tool_run_in(become_user, &caps, copy_tool("profile"), "-f", "-F", "499",
				   "-p", pid_text(work->pid), "300ms");
	} while (!folded_sum(tool->out, "spin", NULL) && --tries);
	CHECK(tries);
	return folded_sum(tool->out, "spin", "spin_hot") > 0;
}

static struct proc *start_spin(setup_fn *setup, void *arg, const char *path)
{
	struct proc *work = work_start_in(setup, arg, path, ARGV("spin"));

	work_go(work);
	return work;
}

TEST(names_in_files_that_all_may_read)
{
	const char *path = copy_tool("profile"), *spin = text_of("%s-spin", path);
	struct proc *work;

	CHECK(file_copy(work_path("spin"), spin) && !chmod(spin, 0755));
	work = start_spin(NULL, NULL, spin);
	CHECK(has_names(BPF | PERFMON | PTRACE, work));
	proc_kill(work);
}

TEST(names_in_files_that_only_some_may_read)
{
	const char *path = text_of("%s/spin", folder_make());
	struct proc *work;

	CHECK(file_copy(work_path("spin"), path) && !chmod(path, 0700));
	work = start_spin(NULL, NULL, path);
	CHECK(!has_names(BPF | PERFMON | PTRACE | CHECKPOINT, work));
	CHECK(has_names(BPF | PERFMON | PTRACE | DAC, work));
	proc_kill(work);
}

TEST(names_in_files_that_are_deleted)
{
	const char *path = text_of("%s/spin", folder_make());
	struct proc *work;

	CHECK(file_copy(work_path("spin"), path) && !chmod(path, 0755));
	work = start_spin(NULL, NULL, path);
	unlink(path);
	CHECK(!has_names(BPF | PERFMON | PTRACE | DAC, work));
	CHECK(!has_names(BPF | PERFMON | PTRACE | CHECKPOINT, work));
	CHECK(!has_names(BPF | PERFMON | DAC | CHECKPOINT, work));
	CHECK(has_names(BPF | PERFMON | PTRACE | DAC | CHECKPOINT, work));
	proc_kill(work);
}

/* The file is there for the process only, as in a container. */
static bool hide_in_namespace(void *arg)
{
	const char *folder = arg;
	char path[256];

	snprintf(path, sizeof(path), "%s/spin", folder);
	return enter_mount_namespace() && !mount("none", folder, "tmpfs", 0, "mode=755") &&
	       file_copy(work_path("spin"), path) && !chmod(path, 0755);
}

TEST(names_in_other_mount_namespaces)
{
	const char *folder = folder_make();
	struct proc *work;

	chmod(folder, 0755);
	work = start_spin(hide_in_namespace, (void *)folder, text_of("%s/spin", folder));
	if (work->status == SETUP_FAILED)
		SKIP("no tmpfs can be mounted");
	CHECK(!has_names(BPF | PERFMON, work));
	CHECK(!has_names(BPF | PERFMON | DAC | SYSLOG | CHECKPOINT, work));
	CHECK(has_names(BPF | PERFMON | PTRACE, work));
	proc_kill(work);
}

/* With CAP_SYSLOG, the kernel tells where the tool's own programs are. */
TEST(own_programs_are_left_out)
{
	uint64_t caps = BPF | PERFMON | SYSLOG;
	struct proc *work = work_start("pingpong", "20011");
	struct proc *tool = tool_launch_in(become_user, &caps,
					   ARGV(copy_tool("profile"), "-f", "-K", "-F", "4999",
						"-p", pid_text(work->pid)));

	CHECK(proc_wait_for(tool, "tracing..."));
	work_do(work);
	tool_stop(tool);
	CHECK(folded_sum(tool->out, "wakee", NULL) > 0);
	CHECK(!folded_has_program(tool->out, "profile_"));
}

/* As sudo's and ping's: a tracer of less privileges would take them away. */
TEST(a_command_keeps_the_privileges_of_its_file)
{
	uint64_t caps = BPF | PERFMON;
	const char *path = copy_tool("syscount"), *command = text_of("%s-command", path);
	struct proc *tool;

	CHECK(file_copy(work_path("privileged"), command) && !chmod(command, 04755));
	tool = tool_run_in(become_user, &caps, command, NULL);
	if (!strstr(tool->out, "euid 0\n"))
		SKIP("set-user-ID files have no effect in %s", path);
	tool = tool_run_in(become_user, &caps, path, "--output", "/dev/null", "--", command);
	CHECK_HAS(tool->out, "euid 0\n");
	CHECK_HAS(tool->err, "command: its start is not traced");
	caps |= PTRACE;
	tool = tool_run_in(become_user, &caps, path, "--output", "/dev/null", "--", command);
	CHECK_HAS(tool->out, "euid 0\n");
	CHECK_LACKS(tool->err, "command: its start is not traced");
}
