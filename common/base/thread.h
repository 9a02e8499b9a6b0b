/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Threads, which leave all signals to the main thread, and the main thread's priority.
 */
#ifndef THREAD_H
#define THREAD_H

#include <pthread.h>
#include <stdint.h>

/* 0 or -errno. */
int thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg);

/*
 * Gives the calling thread, the main one, the highest priority: on a busy machine its work, which
 * is little, would get its turn too late. Where the work may be much, the limit is for how long the
 * process may use a CPU until the thread has its usual priority back; 0: no limit.
 */
void thread_hurry(uint64_t limit_ns);

#endif
