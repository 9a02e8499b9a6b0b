/* SPDX-License-Identifier: GPL-2.0-only */
/* The event loop, on epoll(7): calls the handler of each ready file descriptor. */
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

/* Like loop_watch(), for exceptional conditions (EPOLLPRI): triggers of /proc/pressure. */
int loop_watch_priority(struct loop *loop, int fd, loop_fn *ready, void *arg);

/*
 * Calls tick(fd, arg) once per period until fd is closed. fd is a timer (timerfd_create(2)), which
 * tick must read. Returns fd, which the caller closes, or -errno.
 */
int loop_every(struct loop *loop, uint64_t period_ns, loop_fn *tick, void *arg);

/*
 * Arms a timer of loop_every() to expire once, after a random 0.5 to 1.5 periods, for samplers that
 * must not run in step with other programs' timers. period_ns 0: never. random: state, 0 at first.
 */
void loop_arm_at_random(int fd, uint64_t period_ns, uint64_t *random);

/* Exempts events of fd, which is already watched, from batching: see loop_run(). 0 or -errno. */
int loop_make_urgent(const struct loop *loop, int fd);

/* Calls gone(fd, arg) when the other end of fd has no reader left. 0 or -errno. */
int loop_watch_hangup(struct loop *loop, int fd, loop_fn *gone, void *arg);

/* Suspends batching for the next ns nanoseconds. */
void loop_hurry(struct loop *loop, uint64_t ns);

/*
 * Runs until a handler returns LOOP_STOP. Under load, events are batched for up to 20 ms. 0 or
 * -errno.
 */
int loop_run(struct loop *loop);

#endif
