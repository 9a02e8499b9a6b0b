/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finds threads that stall now: read from /proc repeatedly. A thread stalls
 * - off CPU: if it is runnable without getting a CPU, in uninterruptible sleep, or in a call that
 *   waits for a mutex, for a lock on a file, or for the other end of a connection or pipe;
 * - also on CPU, if counts_cpu is set: time in which it computes and doesn't sleep counts, too.
 * Calls in which threads wait for work don't count, such as epoll_wait(2), read(2), or futex(2) of
 * conditions and semaphores.
 */
#ifndef THREAD_STALLS_H
#define THREAD_STALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/idmap.h"

struct thread_call;

/* Returns the address of the mutex that the thread waits for; 0: none. */
uint64_t thread_mutex(const struct thread_call *call);

struct thread_stalls {
	uint64_t limit_ns; /* shortest stall */
	bool counts_cpu;

	struct idmap threads;
	uint64_t pass; /* number of calls of thread_stalls_read() */
};

/* Called once per stall. text: the thread, the time, and what it does. */
typedef void thread_stall_fn(const char *text, void *arg);

/* Reads the threads of n processes. A stall's time is a lower bound: since it was first seen. */
void thread_stalls_read(struct thread_stalls *stalls, const pid_t *pids, size_t n,
			thread_stall_fn *found, void *arg);

void thread_stalls_free(struct thread_stalls *stalls);

#endif
