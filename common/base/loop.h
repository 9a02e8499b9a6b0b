/* SPDX-License-Identifier: GPL-2.0-only */
/* The one event loop, on epoll(7): file descriptors, each with its handler. */
#ifndef LOOP_H
#define LOOP_H

#include <stdint.h>

enum loop_verdict {
	LOOP_GO,
	LOOP_STOP,
};

typedef enum loop_verdict loop_fn(int fd, void *arg);

struct loop;

struct loop *loop_new(void);

/* Frees the loop; the descriptors stay open. */
void loop_free(struct loop *loop);

/* Calls ready(fd, arg) whenever fd can be read, until fd is closed. 0 or -errno. */
int loop_watch(struct loop *loop, int fd, loop_fn *ready, void *arg);

/*
 * Calls tick(fd, arg) once per period, until fd, a timer (timerfd_create(2)) that tick reads, is
 * closed. The descriptor or -errno.
 */
int loop_every(struct loop *loop, uint64_t period_ns, loop_fn *tick, void *arg);

/* Handles events of fd, which is watched, without delay, also under load. 0 or -errno. */
int loop_make_urgent(const struct loop *loop, int fd);

/* Calls gone(fd, arg) when the other end of fd has no reader left. */
int loop_watch_hangup(struct loop *loop, int fd, loop_fn *gone, void *arg);

/* Handles all events without delay for the next ns nanoseconds. */
void loop_hurry(struct loop *loop, uint64_t ns);

/*
 * Runs until a function returns LOOP_STOP. Under load, events are batched for up to 20 ms. 0 or
 * -errno.
 */
int loop_run(struct loop *loop);

#endif
