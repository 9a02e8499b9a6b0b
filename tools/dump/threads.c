// SPDX-License-Identifier: GPL-2.0-only
/* States of threads; see threads.h. */
#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"
#include "dump/threads.h"
#include "process/procstate.h"
#include "unwind/unwind_remote.h"

/* Parses "tid (comm) S ...": the name may contain anything. */
static bool read_stat(struct thread_state *t)
{
	char *text = thread_file(t->pid, t->tid, "stat"), *open = text ? strchr(text, '(') : NULL;
	char *close = text ? strrchr(text, ')') : NULL;
	bool is_good = open && close && open < close && close[1] == ' ';

	if (is_good) {
		*close = 0;
		snprintf(t->comm, sizeof(t->comm), "%s", open + 1);
		t->state = close[2];
	}
	free(text);
	return is_good && t->state != 'Z' && t->state != 'X';
}

/* Finds the interface of a thread's system calls: 32-bit programs have other numbers. */
static enum call_abi find_abi(const struct thread_state *t)
{
	char *path = mem_printf("/proc/%d/task/%d/exe", t->pid, t->tid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf32_Ehdr header = {};
	bool is_32_bit = fd >= 0 && read(fd, &header, sizeof(header)) == sizeof(header) &&
			 header.e_ident[EI_CLASS] == ELFCLASS32;

	free(path);
	if (fd >= 0)
		close(fd);
	return is_32_bit && header.e_machine != EM_X86_64 ? CALL_COMPAT : CALL_NATIVE;
}

/*
 * Parses "running", "-1 SP PC" for a thread outside of system calls, or "NUMBER ARG... SP PC"
 * (proc_pid_syscall(5)). A thread of the kernel has zeroes.
 */
static void read_call(struct thread_state *t)
{
	char *text = thread_file(t->pid, t->tid, "syscall");
	uint64_t sp = 0, pc = 0, *args = t->args;
	int n = 0;

	t->call = -2;
	t->abi = find_abi(t);
	if (text)
		n = sscanf(text,
			   "%" SCNi32 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64
			   " %" SCNx64 " %" SCNx64 " %" SCNx64,
			   &t->call, &args[0], &args[1], &args[2], &args[3], &args[4], &args[5],
			   &sp, &pc);
	if (n == 3 && t->call == -1) {
		sp = args[0];
		pc = args[1];
	}
	t->thread.regs.sp = sp;
	t->thread.regs.ip = pc;
	if (n > 0 && !sp && !pc)
		t->call = -1;
	t->is_off_cpu = n > 0;
	t->is_denied = !text;
	free(text);
}

/* Parses lines like "[<0>] futex_wait_queue+0x60/0x90". */
static void read_kernel(struct thread_state *t)
{
	char *text = thread_file(t->pid, t->tid, "stack"), *rest = text, *line, *name;

	t->has_kernel = text;
	while (t->n_kernel < KERNEL_DEPTH && (line = strsep(&rest, "\n"))) {
		name = strchr(line, ' ');
		if (!name)
			continue;
		name[1 + strcspn(name + 1, "+ ")] = 0;
		t->kernel[t->n_kernel++] = mem_strdup(name + 1);
	}
	free(text);
}

bool thread_state_read(struct thread_state *t, pid_t pid, pid_t tid)
{
	*t = (struct thread_state){ .pid = pid, .tid = tid };
	t->thread = (struct unwind_thread){ .tgid = (uint32_t)pid, .tid = (uint32_t)tid };
	t->thread.arrivals = unwind_count_arrivals((uint32_t)pid, (uint32_t)tid);
	if (!read_stat(t))
		return false;
	read_call(t);
	read_kernel(t);
	return !t->is_denied || read_stat(t);
}

void thread_state_free(struct thread_state *t)
{
	for (size_t i = 0; i < t->n_kernel; i++)
		free(t->kernel[i]);
	t->n_kernel = 0;
}

uint64_t thread_state_futex(const struct thread_state *t, bool *is_private)
{
	if (t->call != SYS_futex || t->abi != CALL_NATIVE)
		return 0;
	*is_private = t->args[1] & FUTEX_PRIVATE_FLAG;
	return t->args[0];
}
