// SPDX-License-Identifier: GPL-2.0-only
/* States of threads; see threads.h. */
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/mem.h"
#include "dump/threads.h"
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
	t->is_denied = !thread_call_read(&t->call, pid, tid);
	t->is_off_cpu = t->call.is_off_cpu;
	t->thread.regs.sp = t->call.sp;
	t->thread.regs.ip = t->call.pc;
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
	if (t->call.number != SYS_futex || t->call.abi != CALL_NATIVE)
		return 0;
	*is_private = t->call.args[1] & FUTEX_PRIVATE_FLAG;
	return t->call.args[0];
}
