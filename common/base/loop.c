// SPDX-License-Identifier: GPL-2.0-only
/*
 * The event loop; see loop.h. Each iteration has a fixed cost: the thread wakes up, and takes a CPU
 * and its caches from other threads. Under low load, events are handled at once, since a process
 * may block forever a millisecond after it began; under high load, they are batched. An iteration
 * that takes longer than TURN_NS is followed by the next one without sleeping.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/loop.h"
#include "base/mem.h"

#define EVENTS_AT_ONCE 16
#define TURN_NS	       (20 * NS_PER_MS)

struct watch {
	loop_fn *ready;
	void *arg;
};

struct loop {
	int epoll_fd;
	int urgent_fd;	       /* epoll set of the urgent descriptors */
	struct watch *watches; /* indexed by descriptor; the kernel drops closed ones */
	size_t n_watches;
	uint64_t turn_ns; /* start of the last iteration */
	uint64_t hurry_until_ns;
};

struct loop *loop_new(void)
{
	struct loop *loop = mem_zalloc(1, sizeof(*loop));

	loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	loop->urgent_fd = epoll_create1(EPOLL_CLOEXEC);
	return loop;
}

void loop_free(struct loop *loop)
{
	if (!loop)
		return;
	close(loop->epoll_fd);
	close(loop->urgent_fd);
	free(loop->watches);
	free(loop);
}

static int add_watch(struct loop *loop, int fd, uint32_t events, struct watch watch)
{
	struct epoll_event event = { .events = events, .data.fd = fd };

	if (epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, fd, &event))
		return -errno;
	if ((size_t)fd >= loop->n_watches) {
		loop->n_watches = 2 * (size_t)fd + 1;
		loop->watches = mem_realloc(loop->watches, loop->n_watches, sizeof(watch));
	}
	loop->watches[fd] = watch;
	return 0;
}

int loop_watch(struct loop *loop, int fd, loop_fn *ready, void *arg)
{
	return add_watch(loop, fd, EPOLLIN, (struct watch){ ready, arg });
}

int loop_watch_priority(struct loop *loop, int fd, loop_fn *ready, void *arg)
{
	return add_watch(loop, fd, EPOLLPRI, (struct watch){ ready, arg });
}

int loop_every(struct loop *loop, uint64_t period_ns, loop_fn *tick, void *arg)
{
	struct timespec period = { (time_t)(period_ns / NS_PER_S), (long)(period_ns % NS_PER_S) };
	struct itimerspec spec = { period, period };
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK), err;

	if (fd < 0)
		return -errno;
	err = timerfd_settime(fd, 0, &spec, NULL) ? -errno : loop_watch(loop, fd, tick, arg);
	if (!err)
		return fd;
	close(fd);
	return err;
}

void loop_arm_at_random(int fd, uint64_t period_ns, uint64_t *random)
{
	struct itimerspec spec = {};
	uint64_t ns;

	*random = hash_add(*random, clock_now_ns());
	ns = period_ns ? period_ns / 2 + *random % period_ns : 0;
	spec.it_value = (struct timespec){ (time_t)(ns / NS_PER_S), (long)(ns % NS_PER_S) };
	timerfd_settime(fd, 0, &spec, NULL);
}

int loop_make_urgent(const struct loop *loop, int fd)
{
	struct epoll_event event = { .events = EPOLLIN };

	return epoll_ctl(loop->urgent_fd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

int loop_watch_hangup(struct loop *loop, int fd, loop_fn *gone, void *arg)
{
	/* no events requested: EPOLLERR and EPOLLHUP are always reported */
	return add_watch(loop, fd, 0, (struct watch){ gone, arg });
}

void loop_hurry(struct loop *loop, uint64_t ns)
{
	loop->hurry_until_ns = clock_now_ns() + ns;
}

/* Sleeps until TURN_NS after the start of the last iteration, or until an urgent event comes. */
static void let_gather(const struct loop *loop)
{
	uint64_t now_ns = clock_now_ns(), until_ns = loop->turn_ns + TURN_NS;
	struct epoll_event event;

	if (now_ns < until_ns && now_ns >= loop->hurry_until_ns)
		epoll_wait(loop->urgent_fd, &event, 1, (int)((until_ns - now_ns) / NS_PER_MS) + 1);
}

static enum loop_verdict call(struct loop *loop, int fd)
{
	struct watch watch = loop->watches[fd];

	return watch.ready(fd, watch.arg);
}

int loop_run(struct loop *loop)
{
	struct epoll_event events[EVENTS_AT_ONCE];
	int n;

	for (;;) {
		let_gather(loop);
		n = epoll_wait(loop->epoll_fd, events, EVENTS_AT_ONCE, -1);
		if (n < 0 && errno != EINTR)
			return -errno;
		loop->turn_ns = clock_now_ns();
		for (int i = 0; i < n; i++)
			if (call(loop, events[i].data.fd) == LOOP_STOP)
				return 0;
	}
}
