// SPDX-License-Identifier: GPL-2.0-only
/* Running a held program to its entry point; see entry.h. */
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

/* The breakpoint's instruction, and where the program counter is when it has been hit. */
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

/* The number of bytes, or -errno. */
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

/* -ENOTSUP if there is none: then it isn't a 64-bit program. */
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

/* Passes signals on until the breakpoint is hit. 0, or 1 if the program ended. */
static int wait_for_trap(pid_t pid, uint64_t entry, struct user_regs_struct *regs, int *status)
{
	int signal = 0;

	for (;;) {
		if (ptrace(PTRACE_CONT, pid, 0, signal) || waitpid(pid, status, 0) != pid ||
		    !WIFSTOPPED(*status))
			return 1;
		signal = *status >> 16 ? 0 : WSTOPSIG(*status);
		if (signal == SIGTRAP && exchange_registers(pid, PTRACE_GETREGSET, regs) &&
		    regs->PROGRAM_COUNTER == entry + BREAKPOINT_BYTES)
			return 0;
	}
}

int entry_run_to(pid_t pid, int *status)
{
	uint64_t entry = 0;
	struct user_regs_struct regs = {};
	int err = find_entry(pid, &entry);
	long word;

	if (err)
		return err;
	errno = 0;
	word = ptrace(PTRACE_PEEKTEXT, pid, entry, 0);
	if (errno || ptrace(PTRACE_POKETEXT, pid, entry, (word & ~BREAKPOINT_MASK) | BREAKPOINT))
		return -ENOTSUP;
	if (wait_for_trap(pid, entry, &regs, status))
		return 1;
	regs.PROGRAM_COUNTER = entry;
	ptrace(PTRACE_POKETEXT, pid, entry, word);
	exchange_registers(pid, PTRACE_SETREGSET, &regs);
	return 0;
}
