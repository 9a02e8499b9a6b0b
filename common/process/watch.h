/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Watches traced processes: owns the rings with the kernel's process events, and the table that
 * records them (processes.h). Modules subscribe to it.
 */
#ifndef WATCH_H
#define WATCH_H

#include "base/loop.h"
#include "process/processes.h"

struct watch;

/* Callbacks, each may be NULL. Called in the order of events, after the table has been updated. */
struct watch_handlers {
	void (*forked)(pid_t parent, pid_t child, void *arg);
	void (*executed)(pid_t pid, void *arg); /* called before changed() */
	void (*changed)(pid_t pid, void *arg);	/* executed a program, or mapped code */
	void (*exited)(pid_t pid, void *arg);	/* the last thread has ended */
	void (*lost)(void *arg);		/* events of a batch were lost: rescan everything */
	void (*drained)(void *arg);		/* after a batch of events */
	void *arg;
};

/* Returns NULL, printed, if the kernel's events are not available. Freed with watch_free(). */
struct watch *watch_new(const struct processes_options *options);
void watch_free(struct watch *watch);

struct processes *watch_processes(struct watch *watch);

/* Adds a subscriber (at most four). Subscribers are called in the order of subscription. */
void watch_subscribe(struct watch *watch, const struct watch_handlers *handlers);

/* Starts reading events in the loop. 0 or -errno. */
int watch_start(struct watch *watch, struct loop *loop);

/* Reads and handles all pending events. */
void watch_read(struct watch *watch);

#endif
