/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Helper threads, and the priority of the main thread. The main thread does all the work; a helper
 * waits in the kernel for it, and uses neither the heap nor the main thread's data.
 */
#ifndef THREAD_H
#define THREAD_H

#include <pthread.h>
#include <stdint.h>

/* Starts a thread that leaves all signals to the main thread. 0 or -errno. */
int thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg);

/*
 * Gives the calling thread, which must be the main one, the highest priority, so that its short
 * work starts in time on a busy machine. limit_ns: CPU time of the process after which the original
 * priority is restored; 0: no limit.
 */
void thread_hurry(uint64_t limit_ns);

/* Restores the original priority, which a child started before thread_resume() inherits. */
void thread_calm(void);
void thread_resume(void);

#endif
