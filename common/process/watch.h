/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The watch over traced processes: owns the one set of rings with the kernel's process events, and
 * the table that they are entered into (processes.h). Modules subscribe to it.
 */
#ifndef WATCH_H
#define WATCH_H

#include "base/loop.h"
#include "process/processes.h"

struct watch;

/* Any of these may be NULL. Called in the order of the events, after the table has been updated. */
struct watch_handlers {
	void (*forked)(pid_t parent, pid_t child, void *arg);
	void (*executed)(pid_t pid, void *arg); /* before changed() */
	void (*changed)(pid_t pid, void *arg);	/* executed something, or mapped code */
	void (*exited)(pid_t pid, void *arg);	/* its last thread has ended */
	void (*lost)(void *arg);		/* events of a batch were lost: rescan everything */
	void (*drained)(void *arg);		/* after a batch of events */
	void *arg;
};

/* NULL, printed, if the kernel's events are not available. */
struct watch *watch_new(const struct processes_options *options);
void watch_free(struct watch *watch);

struct processes *watch_processes(struct watch *watch);

/* Adds a subscriber, called in the order of subscription; only a few are possible. */
void watch_subscribe(struct watch *watch, const struct watch_handlers *handlers);

/* Reads the events in the loop. 0 or -errno. */
int watch_start(struct watch *watch, struct loop *loop);

/* Reads what there is now. */
void watch_read(struct watch *watch);

#endif
