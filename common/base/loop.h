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

/* Calls ready(fd, arg) whenever fd can be read. 0 or -errno. */
int loop_watch(struct loop *loop, int fd, loop_fn *ready, void *arg);

/* The same, but for that long after each call: what comes meanwhile waits. */
int loop_watch_at_rest(struct loop *loop, int fd, uint64_t rest_ns, loop_fn *ready, void *arg);

/* Calls gone(fd, arg) when nobody reads from the other end of fd any more. */
int loop_watch_hangup(struct loop *loop, int fd, loop_fn *gone, void *arg);

/*
 * Runs until a function says LOOP_STOP. Where much happens, what comes is handled some milliseconds
 * later, together. 0 or -errno.
 */
int loop_run(struct loop *loop);

#endif
