// SPDX-License-Identifier: GPL-2.0-only
/* Starting threads; see thread.h. */
#include <signal.h>

#include "base/thread.h"

/* What is ignored by default, as SIGWINCH, would be lost in a thread that does not block it. */
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
