/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads what the threads of a process do now, from /proc. */
#ifndef DUMP_THREADS_H
#define DUMP_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "abi/filter.h"
#include "abi/unwind_layout.h"
#include "process/procstate.h"

#define KERNEL_DEPTH 64

struct thread_state {
	pid_t pid, tid;
	char comm[TASK_COMM_LEN + 1];
	char state; /* letter as in proc_pid_stat(5): 'R', 'S', 'D', ...; '?': unknown */
	struct thread_call call;
	bool is_denied;	 /* the tool may not read the call and the registers */
	bool is_off_cpu; /* not running; `thread` has its registers, unless it is a kernel thread */
	struct unwind_thread thread;
	bool has_kernel; /* the kernel stack could be read */
	size_t n_kernel; /* names of the kernel stack's functions, leaf first */
	char *kernel[KERNEL_DEPTH];
};

/*
 * Reads a thread's state. False: it has ended. The rest of the state belongs to one wait only if
 * thread.arrivals is still the thread's count of arrivals afterwards. Freed with
 * thread_state_free().
 */
bool thread_state_read(struct thread_state *t, pid_t pid, pid_t tid);
void thread_state_free(struct thread_state *t);

/* Returns the address of the futex that the thread waits for; 0: none. is_private: see futex(2). */
uint64_t thread_state_futex(const struct thread_state *t, bool *is_private);

#endif
