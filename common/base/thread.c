// SPDX-License-Identifier: GPL-2.0-only
/* Helper threads and priority; see thread.h. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>

#include "base/clock.h"
#include "base/msg.h"
#include "base/thread.h"

#define HIGHEST_PRIORITY (-20)

static struct {
	bool is_known;
	volatile sig_atomic_t is_raised;
	int usual;
} priority;

/*
 * Blocks all signals in the new thread: a thread that doesn't would discard signals that are
 * ignored by default, such as SIGWINCH.
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
	int saved_errno = errno;

	(void)number;
	priority.is_raised = false;
	setpriority(PRIO_PROCESS, 0, priority.usual);
	errno = saved_errno;
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
	priority.is_raised = !setpriority(PRIO_PROCESS, 0, HIGHEST_PRIORITY);
	if (!priority.is_raised)
		msg_debug("priority: not raised: %s", strerror(errno));
}

void thread_calm(void)
{
	if (priority.is_raised)
		setpriority(PRIO_PROCESS, 0, priority.usual);
}

void thread_resume(void)
{
	if (!priority.is_raised)
		return;
	setpriority(PRIO_PROCESS, 0, HIGHEST_PRIORITY);
	if (!priority.is_raised) /* the limit came in between */
		setpriority(PRIO_PROCESS, 0, priority.usual);
}
