/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Work for the next report, prepared by a low-priority thread while the tool waits for the end of
 * its window. A job that has not begun by then runs when its result is needed.
 */
#ifndef BACKGROUND_H
#define BACKGROUND_H

#include <pthread.h>
#include <stdint.h>

struct background;

enum job_state {
	JOB_NONE,
	JOB_QUEUED,
	JOB_RUNNING,
	JOB_DONE,
};

/*
 * A member of the object that the job works on; all zero: never queued. A job must not touch
 * anything that other threads use meanwhile.
 */
struct job {
	void (*run)(struct job *job);
	struct job *next;
	enum job_state state;
};

struct background *background_new(void);

/* Waits for the running job, drops the queued ones, and ends the thread. */
void background_free(struct background *background);

/* Appends a job to the queue. The first call starts the thread. */
void background_add(struct background *background, struct job *job, void (*run)(struct job *job));

/* Returns when a queued job is done; runs it in the caller if it has not begun. */
void background_finish(struct background *background, struct job *job);

/* Starts a thread that leaves all signals to the main thread. 0 or -errno. */
int thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg);

/*
 * Gives the calling thread, the main one, the highest priority: on a busy machine its short work
 * would start too late. limit_ns: CPU time of the process after which the thread gets its usual
 * priority back; 0: no limit.
 */
void thread_hurry(uint64_t limit_ns);

#endif
