/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Process events from the kernel, without BPF: one software event per CPU that counts nothing and
 * carries fork, exec, exit and executable mappings (perf_event_open(2), PERF_COUNT_SW_DUMMY).
 * watch.h reads them.
 */
#ifndef PROCESS_EVENTS_H
#define PROCESS_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/loop.h"
#include "process/procmaps.h"

enum process_event_kind {
	PROCESS_NOTHING,
	PROCESS_FORK,	/* new process pid, child of parent */
	PROCESS_THREAD, /* new thread tid of process pid */
	PROCESS_EXEC,
	PROCESS_MAP,  /* new executable mapping */
	PROCESS_EXIT, /* exit of thread tid of process pid */
	PROCESS_LOST, /* events were lost */
};

struct process_event {
	enum process_event_kind kind;
	pid_t pid, tid, parent;
	uint64_t time_ns;	/* CLOCK_MONOTONIC */
	struct mapping mapping; /* mapping of PROCESS_MAP; path valid until the callback returns */
	bool is_last;		/* set by note(), read by handle(): exit of the last thread */
};

/*
 * Callbacks, in the order in which events happened: note() as soon as an event is taken out of its
 * ring, handle() later.
 */
struct process_event_user {
	void (*note)(struct process_event *event, void *arg);
	void (*handle)(const struct process_event *event, void *arg);
	void (*drained)(void *arg); /* called after each batch of handled events */
	void *arg;
};

struct process_events;

/* Opens the events on all online CPUs. NULL, printed, on failure. */
struct process_events *process_events_open(const struct process_event_user *user);
void process_events_close(struct process_events *sb);

/* Starts reading events in the loop. 0 or -errno. */
int process_events_watch(struct process_events *sb, struct loop *loop);

/* Calls note() for all events up to time_ns. */
void process_events_take(struct process_events *sb, uint64_t time_ns);

/* Calls note() and handle() for all pending events. */
void process_events_read(struct process_events *sb);

/*
 * A queue that sorts the records of several rings by time. Rings are read one after the other: an
 * event may be read without its cause, which was added to a ring that had already been read. So
 * only events from before the reading began are complete, and the rest waits for the next time.
 */

struct queued {
	uint64_t time_ns;
	size_t at, size; /* location in event_queue.bytes */
	bool is_last;	 /* see struct process_event */
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
