// SPDX-License-Identifier: GPL-2.0-only
/*
 * One thread and its queue; see background.h. The thread has a low priority so that it doesn't slow
 * down the traced side, but not idle priority: both threads take the allocator's locks, and a lock
 * holder must get its turn on a busy machine. While another thread waits for a job, the background
 * thread has that thread's priority.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/background.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/msg.h"

/* ---- thread ---- */

#define HIGHEST_PRIORITY (-20)

static struct {
	bool is_known;
	int usual;
} priority;

/*
 * Signals that are ignored by default, as SIGWINCH, would be lost in a thread that does not block
 * them.
 */
int thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg)
{
	sigset_t all, before;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = -pthread_create(thread, NULL, run, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return err;
}

static void on_limit(int number)
{
	(void)number;
	setpriority(PRIO_PROCESS, 0, priority.usual);
}

void thread_hurry(uint64_t limit_ns)
{
	struct sigaction action = { .sa_handler = on_limit, .sa_flags = SA_RESTART };
	struct itimerval limit = { .it_value = { (time_t)(limit_ns / NS_PER_S),
						 (suseconds_t)(limit_ns % NS_PER_S / NS_PER_US) } };

	if (!priority.is_known) {
		priority.usual = getpriority(PRIO_PROCESS, 0);
		priority.is_known = true;
		sigaction(SIGPROF, &action, NULL);
	}
	setitimer(ITIMER_PROF, &limit, NULL);
	if (setpriority(PRIO_PROCESS, 0, HIGHEST_PRIORITY))
		msg_debug("priority: not raised: %s", strerror(errno));
}

/* ---- background ---- */

#define BACKGROUND_NICE 10

struct background {
	pthread_mutex_t lock;
	pthread_cond_t changed; /* signals changes of the queue, of a job's state and of is_over */
	pthread_t thread;
	bool is_started, is_over;
	pid_t tid;
	struct job *first, **end;
};

struct background *background_new(void)
{
	struct background *bg = mem_zalloc(1, sizeof(*bg));

	pthread_mutex_init(&bg->lock, NULL);
	pthread_cond_init(&bg->changed, NULL);
	bg->end = &bg->first;
	return bg;
}

/* The lock is held. */
static struct job *take_first(struct background *bg)
{
	struct job *job = bg->first;

	bg->first = job->next;
	if (!bg->first)
		bg->end = &bg->first;
	job->next = NULL;
	return job;
}

/* Called with the lock held; releases it while the job runs. */
static void do_job(struct background *bg, struct job *job)
{
	job->state = JOB_RUNNING;
	pthread_mutex_unlock(&bg->lock);
	job->run(job);
	pthread_mutex_lock(&bg->lock);
	job->state = JOB_DONE;
	pthread_cond_broadcast(&bg->changed);
}

static void *run_thread(void *arg)
{
	struct background *bg = arg;

	pthread_mutex_lock(&bg->lock);
	bg->tid = gettid();
	setpriority(PRIO_PROCESS, (id_t)bg->tid, BACKGROUND_NICE);
	while (!bg->is_over) {
		if (bg->first)
			do_job(bg, take_first(bg));
		else
			pthread_cond_wait(&bg->changed, &bg->lock);
	}
	pthread_mutex_unlock(&bg->lock);
	return NULL;
}

/* If no thread can be started, jobs run when their results are needed. */
static void start_thread(struct background *bg)
{
	bg->is_started = !thread_start(&bg->thread, run_thread, bg);
	if (!bg->is_started)
		msg_debug("background thread: not started, work runs in the foreground");
}

void background_add(struct background *bg, struct job *job, void (*run)(struct job *job))
{
	pthread_mutex_lock(&bg->lock);
	*job = (struct job){ .run = run, .state = JOB_QUEUED };
	*bg->end = job;
	bg->end = &job->next;
	pthread_cond_broadcast(&bg->changed);
	if (!bg->is_started)
		start_thread(bg);
	pthread_mutex_unlock(&bg->lock);
}

/* The lock is held. */
static void take_out(struct background *bg, struct job *job)
{
	struct job **link = &bg->first;

	while (*link != job)
		link = &(*link)->next;
	*link = job->next;
	if (!*link)
		bg->end = link;
	job->next = NULL;
}

/* The lock is held. */
static void wait_for(struct background *bg, const struct job *job)
{
	if (job->state != JOB_RUNNING)
		return;
	setpriority(PRIO_PROCESS, (id_t)bg->tid, getpriority(PRIO_PROCESS, 0));
	while (job->state == JOB_RUNNING)
		pthread_cond_wait(&bg->changed, &bg->lock);
	setpriority(PRIO_PROCESS, (id_t)bg->tid, BACKGROUND_NICE);
}

void background_finish(struct background *bg, struct job *job)
{
	pthread_mutex_lock(&bg->lock);
	if (job->state == JOB_QUEUED) {
		take_out(bg, job);
		do_job(bg, job);
	}
	wait_for(bg, job);
	pthread_mutex_unlock(&bg->lock);
}

void background_free(struct background *bg)
{
	if (!bg)
		return;
	pthread_mutex_lock(&bg->lock);
	bg->is_over = true;
	pthread_cond_broadcast(&bg->changed);
	pthread_mutex_unlock(&bg->lock);
	if (bg->is_started)
		pthread_join(bg->thread, NULL);
	pthread_cond_destroy(&bg->changed);
	pthread_mutex_destroy(&bg->lock);
	free(bg);
}
