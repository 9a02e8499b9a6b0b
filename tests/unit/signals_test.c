// SPDX-License-Identifier: GPL-2.0-only
/* Signals that end a run, and what becomes of those that nobody notices. */
#include <poll.h>

#include "base/signals.h"
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
