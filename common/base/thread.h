/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The main thread, which does all the work, and its priority. A second thread may wait in the
 * kernel for it, but uses neither the heap nor data of the main thread.
 */
#ifndef THREAD_H
#define THREAD_H

#include <pthread.h>
#include <stdint.h>

/* Starts a thread that leaves all signals to the main thread. 0 or -errno. */
int thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg);

/*
 * Gives the calling thread, the main one, the highest priority, so that its short work starts in
 * time on a busy machine. limit_ns: CPU time of the process after which the thread gets its usual
 * priority back; 0: no limit.
 */
void thread_hurry(uint64_t limit_ns);

#endif
