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

/* ---- the queue of events ---- */

/*
 * A queue that sorts the records of several rings by time. Rings are read one after the other: an
 * event may be read without its cause, which was added to a ring that had already been read. So
 * only events from before the reading began are complete, and the rest waits for the next time.
 */

struct queued {
	uint64_t time_ns;
	size_t at, size; /* location in event_queue.bytes */
	bool is_last;	 /* exit of the last thread */
};

/* All zero: an empty queue. */
struct event_queue {
	char *bytes;
	size_t n_bytes, bytes_cap;
	struct queued *items;
	size_t n_items, items_cap;
	size_t n_noted, n_handled; /* number of items noted and handled */
};

void event_queue_free(struct event_queue *queue);

/* Adds a record and returns its memory, to be filled. size: a multiple of 8. */
char *event_queue_add(struct event_queue *queue, uint64_t time_ns, size_t size);

/* Returns the record of an item. */
const void *event_queue_record(const struct event_queue *queue, const struct queued *item);

/*
 * Sorts records not yet noted. Call after adding all records up to a time, before
 * event_queue_note().
 */
void event_queue_sort(struct event_queue *queue);

/* Returns the next record to be noted, if it is from until_ns or earlier; NULL: none. */
struct queued *event_queue_note(struct event_queue *queue, uint64_t until_ns);

/* Returns the next noted event to be handled; NULL: none. */
const struct queued *event_queue_handle(struct event_queue *queue);

/* Drops the noted records, which have all been handled. */
void event_queue_drop(struct event_queue *queue);

#endif
