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
	PROCESS_FORK,	/* pid, of its parent */
	PROCESS_THREAD, /* tid, of process pid */
	PROCESS_EXEC,
	PROCESS_MAP,  /* for execution */
	PROCESS_EXIT, /* exit of thread tid of process pid */
	PROCESS_LOST, /* some were lost */
};

struct process_event {
	enum process_event_kind kind;
	pid_t pid, tid, parent;
	uint64_t time_ns;	/* CLOCK_MONOTONIC */
	struct mapping mapping; /* its path is valid until note() or handle() returns */
	bool is_last;		/* set by note(), read by handle(): the exit of the last thread */
};

/*
 * Each event is noted as soon as it is taken out of its ring, and handled later, both in the order
 * in which they happened.
 */
struct process_event_user {
	void (*note)(struct process_event *event, void *arg);
	void (*handle)(const struct process_event *event, void *arg);
	void (*drained)(void *arg); /* after a batch */
	void *arg;
};

struct process_events;

/* Opens the events on all CPUs that are online. NULL, printed, if that fails. */
struct process_events *process_events_open(const struct process_event_user *user);
void process_events_close(struct process_events *sb);

/* Reads the events in the loop. 0 or -errno. */
int process_events_watch(struct process_events *sb, struct loop *loop);

/* Notes all events up to that time. */
void process_events_take(struct process_events *sb, uint64_t time_ns);

/* Notes and handles all pending events. */
void process_events_read(struct process_events *sb);

/*
 * Records of several rings, in order of time. Rings are read one after the other: an event may be
 * read before its cause, whose ring was read earlier. So only events from before the reading began
 * are in order, and the rest waits for the next time.
 */

struct queued {
	uint64_t time_ns;
	size_t at, size; /* in the bytes */
	bool is_last;	 /* the user's; see struct process_event */
};

/* All zero: empty. */
struct event_queue {
	char *bytes;
	size_t n_bytes, bytes_cap;
	struct queued *items;
	size_t n_items, items_cap;
	size_t n_noted, n_handled; /* of the items */
};

void event_queue_free(struct event_queue *queue);

/* Returns the memory for a new record of that size, a multiple of 8, and that time. */
char *event_queue_add(struct event_queue *queue, uint64_t time_ns, size_t size);

/* Returns the record of an item. */
const void *event_queue_record(const struct event_queue *queue, const struct queued *item);

/* Sorts the records not yet noted; before event_queue_note(), with all up to its time added. */
void event_queue_sort(struct event_queue *queue);

/* Returns the next record to be noted, up to that time; NULL: none. */
struct queued *event_queue_note(struct event_queue *queue, uint64_t until_ns);

/* Returns the next noted event to be handled; NULL: there is none. */
const struct queued *event_queue_handle(struct event_queue *queue);

/* Drops the noted records, which have all been handled. */
void event_queue_drop(struct event_queue *queue);

#endif
