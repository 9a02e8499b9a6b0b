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
	PROCESS_EXIT, /* of thread tid of process pid */
	PROCESS_LOST, /* some were lost */
};

struct process_event {
	enum process_event_kind kind;
	pid_t pid, tid, parent;
	uint64_t time_ns;	/* CLOCK_MONOTONIC */
	struct mapping mapping; /* its path is valid until note() or handle() returns */
	bool is_last; /* for note() to set and handle() to see: the process's last thread */
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

/* Notes all that happened up to that moment. */
void process_events_take(struct process_events *sb, uint64_t time_ns);

/* Notes and handles what there is now. */
void process_events_read(struct process_events *sb);

/*
 * Records of several rings, in the order in which they happened. Rings are read one after the
 * other: what has come into one of them meanwhile may be known before its cause, which is in one
 * that was read earlier. So only what happened before the reading began is in order, and the rest
 * waits for the next time.
 */

struct queued {
	uint64_t time_ns;
	size_t at, size; /* in the bytes */
	bool is_last;	 /* the user's; see process_events.h */
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

/* Returns the place for a new record of that size, a multiple of 8, and that time. */
char *event_queue_add(struct event_queue *queue, uint64_t time_ns, size_t size);

/* Returns the record of an item. */
const void *event_queue_record(const struct event_queue *queue, const struct queued *item);

/* All records that happened until then have been added: puts those that are not noted in order. */
void event_queue_sort(struct event_queue *queue);

/* Returns the next one to be noted, of those that happened until then; NULL: there is none. */
struct queued *event_queue_note(struct event_queue *queue, uint64_t until_ns);

/* Returns the next one to be handled, of those that were noted; NULL: there is none. */
const struct queued *event_queue_handle(struct event_queue *queue);

/* All that were noted have been handled, and are dropped. */
void event_queue_drop(struct event_queue *queue);

#endif
