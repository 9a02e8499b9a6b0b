// SPDX-License-Identifier: GPL-2.0-only
/* Runs a stopped program to its entry point; see entry.h. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run/entry.h"

/* The breakpoint's instruction, and its offset to the program counter after a hit. */
#if defined(__x86_64__)
#define BREAKPOINT	 0xccL /* int3 */
#define BREAKPOINT_MASK	 0xffL
#define BREAKPOINT_BYTES 1
#define PROGRAM_COUNTER	 rip
#else				     /* arm64 */
#define BREAKPOINT	 0xd4200000L /* brk #0 */
#define BREAKPOINT_MASK	 0xffffffffL
#define BREAKPOINT_BYTES 0
#define PROGRAM_COUNTER	 pc
#endif

/* Reads /proc/PID/auxv. Returns the number of bytes, or -errno. */
static ssize_t read_auxv(pid_t pid, Elf64_auxv_t *vector, size_t size)
{
	char path[64];
	ssize_t bytes;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/auxv", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	bytes = read(fd, vector, size);
	if (bytes < 0)
		bytes = -errno;
	close(fd);
	return bytes;
}

/* Finds AT_ENTRY. 0; -ENOTSUP: none, as in 32-bit programs; or -errno. */
static int find_entry(pid_t pid, uint64_t *entry)
{
	Elf64_auxv_t vector[64] = {};
	ssize_t bytes = read_auxv(pid, vector, sizeof(vector));

	for (ssize_t i = 0; (i + 1) * (ssize_t)sizeof(*vector) <= bytes; i++)
		if (vector[i].a_type == AT_ENTRY) {
			*entry = vector[i].a_un.a_val;
			return 0;
		}
	return bytes < 0 ? (int)bytes : -ENOTSUP;
}

static bool exchange_registers(pid_t pid, int request, struct user_regs_struct *regs)
{
	struct iovec area = { regs, sizeof(*regs) };

	return !ptrace(request, pid, NT_PRSTATUS, &area);
}

struct breakpoint {
	uint64_t entry;
	long word; /* original code at the entry */
};

static bool set_breakpoint(pid_t pid, const struct breakpoint *b)
{
	return !ptrace(PTRACE_POKETEXT, pid, b->entry, (b->word & ~BREAKPOINT_MASK) | BREAKPOINT);
}

/*
 * Detaches a child forked by a library's constructor, and removes the breakpoint from it: the child
 * reaches the entry, too, but nobody traces it.
 */
static void let_fork_go(pid_t pid, const struct breakpoint *b)
{
	unsigned long child = 0;
	int status;

	ptrace(PTRACE_GETEVENTMSG, pid, 0, &child);
	if (!child || waitpid((pid_t)child, &status, __WALL) != (pid_t)child || !WIFSTOPPED(status))
		return;
	ptrace(PTRACE_POKETEXT, child, b->entry, b->word);
	ptrace(PTRACE_DETACH, child, 0, 0);
	set_breakpoint(pid, b); /* set again: parent and child may share memory */
}

/*
 * Passes signals on until the breakpoint is hit. Returns 0; 1: the program exited; -ENOTSUP: the
 * program executed another one.
 */
static int wait_for_trap(pid_t pid, const struct breakpoint *b, struct user_regs_struct *regs,
			 int *status)
{
	int signal = 0, event;

	for (;;) {
		if (ptrace(PTRACE_CONT, pid, 0, signal) || waitpid(pid, status, 0) != pid ||
		    !WIFSTOPPED(*status))
			return 1;
		event = *status >> 16;
		if (event == PTRACE_EVENT_EXEC)
			return -ENOTSUP;
		if (event == PTRACE_EVENT_FORK)
			let_fork_go(pid, b);
		signal = event ? 0 : WSTOPSIG(*status);
		if (signal == SIGTRAP && exchange_registers(pid, PTRACE_GETREGSET, regs) &&
		    regs->PROGRAM_COUNTER == b->entry + BREAKPOINT_BYTES)
			return 0;
	}
}

int entry_run_to(pid_t pid, int *status)
{
	struct user_regs_struct regs = {};
	struct breakpoint b = {};
	int err = find_entry(pid, &b.entry);

	if (err)
		return err;
	errno = 0;
	b.word = ptrace(PTRACE_PEEKTEXT, pid, b.entry, 0);
	if (errno || ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_TRACEEXEC | PTRACE_O_TRACEFORK) ||
	    !set_breakpoint(pid, &b))
		return -ENOTSUP;
	err = wait_for_trap(pid, &b, &regs, status);
	if (err)
		return err;
	regs.PROGRAM_COUNTER = b.entry;
	ptrace(PTRACE_POKETEXT, pid, b.entry, b.word);
	exchange_registers(pid, PTRACE_SETREGSET, &regs);
	return 0;
}
