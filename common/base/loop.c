// SPDX-License-Identifier: GPL-2.0-only
/*
 * The one poll loop; see loop.h. Each turn has a price, however little there is to do: the thread
 * is woken up, and takes a CPU from others. What comes is handled at once where little happens,
 * since a process may block for good a millisecond after it began, and left to gather where much
 * happens.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/loop.h"
#include "base/mem.h"

#define LOOP_MAX_WATCHES 16
#define EAGER_TURNS	 2 /* in each period */
#define PERIOD_NS	 (20 * NS_PER_MS)
#define GATHER_NS	 (5 * NS_PER_MS)

struct watch {
	int fd;
	loop_fn *ready;
	void *arg;
};

struct loop {
	int epoll_fd;
	size_t n_watches;
	struct watch watches[LOOP_MAX_WATCHES];
	uint64_t period_ns; /* when it began */
	unsigned int n_turns;
};

struct loop *loop_new(void)
{
	struct loop *loop = mem_zalloc(1, sizeof(*loop));

	loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	return loop;
}

void loop_free(struct loop *loop)
{
	if (!loop)
		return;
	close(loop->epoll_fd);
	free(loop);
}

static int add_watch(struct loop *loop, int fd, uint32_t events, loop_fn *ready, void *arg)
{
	struct watch *watch = &loop->watches[loop->n_watches];
	struct epoll_event event = { .events = events, .data.ptr = watch };

	if (loop->n_watches == LOOP_MAX_WATCHES)
		return -ENOSPC;
	if (epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, fd, &event))
		return -errno;
	*watch = (struct watch){ fd, ready, arg };
	loop->n_watches++;
	return 0;
}

int loop_watch(struct loop *loop, int fd, loop_fn *ready, void *arg)
{
	return add_watch(loop, fd, EPOLLIN, ready, arg);
}

int loop_watch_hangup(struct loop *loop, int fd, loop_fn *gone, void *arg)
{
	return add_watch(loop, fd, 0, gone, arg); /* EPOLLERR and EPOLLHUP are always reported */
}

static void let_gather(struct loop *loop)
{
	const struct timespec delay = { .tv_nsec = (long)GATHER_NS };
	uint64_t now_ns = clock_now_ns();

	if (now_ns - loop->period_ns > PERIOD_NS) {
		loop->period_ns = now_ns;
		loop->n_turns = 0;
	}
	if (loop->n_turns++ >= EAGER_TURNS)
		nanosleep(&delay, NULL);
}

int loop_run(struct loop *loop)
{
	struct epoll_event events[LOOP_MAX_WATCHES];
	struct watch *watch;
	int n;

	for (;;) {
		let_gather(loop);
		n = epoll_wait(loop->epoll_fd, events, LOOP_MAX_WATCHES, -1);
		if (n < 0 && errno != EINTR)
			return -errno;
		for (int i = 0; i < n; i++) {
			watch = events[i].data.ptr;
			if (watch->ready(watch->fd, watch->arg) == LOOP_STOP)
				return 0;
		}
	}
}
