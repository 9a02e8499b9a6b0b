/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Records of several rings, in the order in which they happened. Rings are read one after the
 * other: what has come into one of them meanwhile may be known before its cause, which is in one
 * that was read earlier. So only what happened before the reading began is in order, and the rest
 * waits for the next time.
 */
#ifndef EVENT_QUEUE_H
#define EVENT_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
