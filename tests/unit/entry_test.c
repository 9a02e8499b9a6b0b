// SPDX-License-Identifier: GPL-2.0-only
/* A program that is held at its entry point, and goes on from there as if nothing had been. */
#include <elf.h>
#include <sys/ptrace.h>

#include "run/entry.h"
#include "unit.h"

#define PROGRAM "/bin/true"

static pid_t pid;
static int status;

/* Stopped by ptrace after its exec. */
static bool start_traced(const char *program, const char *arg)
{
	pid = fork();

	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		execl(program, program, arg, (char *)NULL);
		_exit(127);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFSTOPPED(status));
	return WIFSTOPPED(status);
}

static uint64_t auxiliary_value(uint64_t type)
{
	Elf64_auxv_t vector[64] = {};
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/auxv", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK(read(fd, vector, sizeof(vector)) > 0);
	close(fd);
	for (size_t i = 0; i < ARRAY_SIZE(vector); i++)
		if (vector[i].a_type == type)
			return vector[i].a_un.a_val;
	return 0;
}

/* "-1 SP PC" where a process is stopped outside of a system call, whatever the architecture. */
static uint64_t program_counter(void)
{
	unsigned long long sp, pc = 0;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/syscall", pid);
	f = fopen(path, "re");
	CHECK(f && fscanf(f, "-1 %llx %llx", &sp, &pc) == 2);
	if (f)
		fclose(f);
	return pc;
}

static void check_success(void)
{
	ptrace(PTRACE_DETACH, pid, 0, 0);
	waitpid(pid, &status, 0);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(a_program_is_held_at_its_entry_point_and_goes_on)
{
	long before;

	if (!start_traced(PROGRAM, NULL))
		return;
	before = ptrace(PTRACE_PEEKTEXT, pid, auxiliary_value(AT_ENTRY), 0);
	CHECK_EQ(entry_run_to(pid, &status), 0);
	CHECK(auxiliary_value(AT_ENTRY) != 0);
	CHECK_EQ(program_counter(), auxiliary_value(AT_ENTRY));
	CHECK_EQ(ptrace(PTRACE_PEEKTEXT, pid, auxiliary_value(AT_ENTRY), 0), before);
	check_success();
}

#define CHILD_FAILED 99

/* Acts before this program's entry point if "fork" or "exec" stands for a test's name. */
static void act_early(int argc, char **argv)
{
	const char *what = argc == 2 ? argv[1] : "";

	if (!strcmp(what, "exec"))
		execl(PROGRAM, PROGRAM, (char *)NULL);
	else if (!strcmp(what, "fork") && fork() && (wait(&status) < 0 || status))
		_exit(CHILD_FAILED);
}

/* The dynamic linker calls it; in a static program it comes after the entry. */
__attribute__((section(".preinit_array"),
	       used)) static void (*const early)(int argc, char **argv) = act_early;

/* As library constructors do: its child is not held, and must not meet the breakpoint. */
TEST(a_program_may_fork_on_the_way)
{
	if (!start_traced("/proc/self/exe", "fork"))
		return;
	CHECK_EQ(entry_run_to(pid, &status), 0);
	CHECK_EQ(program_counter(), auxiliary_value(AT_ENTRY));
	check_success();
}

TEST(a_program_may_execute_another_one_on_the_way)
{
	if (!start_traced("/proc/self/exe", "exec"))
		return;
	CHECK(entry_run_to(pid, &status) <= 0);
	check_success();
}

TEST(a_program_that_ends_on_the_way_is_told)
{
	if (!start_traced(PROGRAM, NULL))
		return;
	kill(pid, SIGKILL);
	CHECK(entry_run_to(pid, &status) != 0);
	if (!WIFSIGNALED(status))
		waitpid(pid, &status, 0);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

TEST(a_program_that_is_not_traced_cannot_be_held)
{
	CHECK_EQ(entry_run_to(getpid(), &status), -ENOTSUP);
}

/* Not for want of an entry point: this is worth a message. */
TEST(a_process_that_is_gone_is_another_error)
{
	CHECK_EQ(entry_run_to(1 << 30, &status), -ENOENT);
}
