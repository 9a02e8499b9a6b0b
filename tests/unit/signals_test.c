// SPDX-License-Identifier: GPL-2.0-only
/* Signals that end a run, and what becomes of those that nobody notices. */
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/mem.h"
#include "base/signals.h"
#include "base/thread.h"
#include "child.h"
#include "unit.h"

static bool can_be_read(int fd)
{
	struct pollfd wanted = { .fd = fd, .events = POLLIN };

	return poll(&wanted, 1, 0) == 1;
}

TEST_APART(a_signal_is_told)
{
	int fd = signals_catch();

	CHECK(!can_be_read(fd) && !signals_are_pending());
	raise(SIGTERM);
	raise(SIGTERM); /* timeout(1) sends two */
	CHECK(can_be_read(fd) && signals_are_pending());
	signals_take();
	CHECK(!can_be_read(fd) && !signals_are_pending());
	raise(SIGINT);
	CHECK(can_be_read(fd) && signals_are_pending());
}

TEST_APART(a_hangup_that_is_ignored_stays_so)
{
	int fd;

	signal(SIGHUP, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	fd = signals_catch();
	raise(SIGHUP);
	CHECK(!can_be_read(fd));
	raise(SIGINT);
	CHECK(can_be_read(fd));
	signals_restore();
	CHECK_EQ(signal(SIGINT, SIG_DFL) == SIG_IGN, true);
	CHECK_EQ(signal(SIGTERM, SIG_DFL) == SIG_DFL, true);
}

/* By nohup(1), and by a shell that runs a script's "&". */
static void be_deaf(void)
{
	signals_catch();
	raise(SIGTERM);
	usleep(1100000);
	raise(SIGINT);
}

TEST(one_that_nobody_notices_is_the_last)
{
	pid_t pid = start_child_with(be_deaf);
	int status;

	waitpid(pid, &status, 0);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
}

static void *sleep_on(void *arg)
{
	for (;;)
		pause();
	return arg;
}

/* Beside another thread, malloc() has locks: a handler that allocates memory waits for ever. */
static void allocate_until_a_signal(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGINT };
	const struct itimerspec soon = { .it_value = { .tv_nsec = 500000 } };
	pthread_t thread;
	timer_t timer;

	alarm(60);
	CHECK(!pthread_create(&thread, NULL, sleep_on, NULL));
	signals_catch();
	CHECK(!timer_create(CLOCK_MONOTONIC, &event, &timer));
	timer_settime(timer, 0, &soon, NULL);
	while (!signals_are_pending())
		free(mem_zalloc(2000, 1));
}

TEST(a_signal_may_come_while_memory_is_allocated)
{
	for (int i = 0; i < 20; i++) {
		pid_t pid = start_child_with(allocate_until_a_signal);
		int status;

		waitpid(pid, &status, 0);
		CHECK_EQ(status, 0);
	}
}

static void *ask_mask(void *mask)
{
	pthread_sigmask(SIG_SETMASK, NULL, mask);
	return NULL;
}

/* SIGWINCH, which is ignored by default, would be lost in a thread that lets it through. */
TEST(helper_threads_leave_all_signals_to_the_first_one)
{
	sigset_t mask, own;
	pthread_t thread;

	CHECK_EQ(thread_start(&thread, ask_mask, &mask), 0);
	pthread_join(thread, NULL);
	CHECK(sigismember(&mask, SIGWINCH) && sigismember(&mask, SIGINT));
	pthread_sigmask(SIG_SETMASK, NULL, &own);
	CHECK(!sigismember(&own, SIGWINCH) && !sigismember(&own, SIGINT));
}
