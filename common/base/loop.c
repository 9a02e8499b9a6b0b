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
	uint64_t rest_ns;	 /* after each call; 0: none */
	uint64_t rests_until_ns; /* 0: it doesn't */
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

static int add_watch(struct loop *loop, uint32_t events, const struct watch *added)
{
	struct watch *watch = &loop->watches[loop->n_watches];
	struct epoll_event event = { .events = events, .data.ptr = watch };

	if (loop->n_watches == LOOP_MAX_WATCHES)
		return -ENOSPC;
	if (epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, added->fd, &event))
		return -errno;
	*watch = *added;
	loop->n_watches++;
	return 0;
}

int loop_watch(struct loop *loop, int fd, loop_fn *ready, void *arg)
{
	return add_watch(loop, EPOLLIN, &(struct watch){ fd, ready, arg });
}

int loop_watch_at_rest(struct loop *loop, int fd, uint64_t rest_ns, loop_fn *ready, void *arg)
{
	return add_watch(loop, EPOLLIN | EPOLLONESHOT, &(struct watch){ fd, ready, arg, rest_ns });
}

int loop_watch_hangup(struct loop *loop, int fd, loop_fn *gone, void *arg)
{
	/* EPOLLERR and EPOLLHUP are always reported. */
	return add_watch(loop, 0, &(struct watch){ fd, gone, arg });
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

static void end_rest(const struct loop *loop, struct watch *watch)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLONESHOT, .data.ptr = watch };

	watch->rests_until_ns = 0;
	epoll_ctl(loop->epoll_fd, EPOLL_CTL_MOD, watch->fd, &event);
}

/* Ends the rests that are over. The milliseconds until the next one is; -1: there is none. */
static int end_rests(struct loop *loop)
{
	uint64_t now_ns = clock_now_ns(), next_ns = UINT64_MAX;

	for (struct watch *w = loop->watches; w < loop->watches + loop->n_watches; w++) {
		if (w->rests_until_ns && w->rests_until_ns <= now_ns)
			end_rest(loop, w);
		if (w->rests_until_ns && w->rests_until_ns < next_ns)
			next_ns = w->rests_until_ns;
	}
	return next_ns == UINT64_MAX ? -1 : (int)((next_ns - now_ns) / NS_PER_MS) + 1;
}

static enum loop_verdict call(struct watch *watch)
{
	enum loop_verdict verdict = watch->ready(watch->fd, watch->arg);

	if (watch->rest_ns)
		watch->rests_until_ns = clock_now_ns() + watch->rest_ns;
	return verdict;
}

int loop_run(struct loop *loop)
{
	struct epoll_event events[LOOP_MAX_WATCHES];
	int n;

	for (;;) {
		let_gather(loop);
		n = epoll_wait(loop->epoll_fd, events, LOOP_MAX_WATCHES, end_rests(loop));
		if (n < 0 && errno != EINTR)
			return -errno;
		for (int i = 0; i < n; i++)
			if (call(events[i].data.ptr) == LOOP_STOP)
				return 0;
	}
}
