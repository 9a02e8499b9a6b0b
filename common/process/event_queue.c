// SPDX-License-Identifier: GPL-2.0-only
/* Records of several rings in order; see event_queue.h. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "process/event_queue.h"

#define USUAL_BYTES	 (256u << 10)
#define CLOCKS_DIFFER_NS (60 * NS_PER_S) /* as in a time namespace: nothing says what was later */

void event_queue_free(struct event_queue *queue)
{
	free(queue->bytes);
	free(queue->items);
	*queue = (struct event_queue){};
}

char *event_queue_add(struct event_queue *queue, uint64_t time_ns, size_t size)
{
	size_t at = queue->n_bytes, need = at + size;

	while (queue->bytes_cap < need) {
		queue->bytes_cap = queue->bytes_cap ? 2 * queue->bytes_cap : 4096;
		queue->bytes = mem_realloc(queue->bytes, queue->bytes_cap, 1);
	}
	queue->items =
		mem_grow(queue->items, queue->n_items, &queue->items_cap, sizeof(*queue->items));
	queue->items[queue->n_items++] =
		(struct queued){ .time_ns = time_ns, .at = at, .size = size };
	queue->n_bytes = need;
	return queue->bytes + at;
}

const void *event_queue_record(const struct event_queue *queue, const struct queued *item)
{
	return queue->bytes + item->at;
}

/* Events of one CPU are in order, which must remain. */
static int compare_items(const void *a, const void *b)
{
	const struct queued *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return (x->at > y->at) - (x->at < y->at);
}

void event_queue_sort(struct event_queue *queue)
{
	if (queue->n_items - queue->n_noted > 1)
		qsort(queue->items + queue->n_noted, queue->n_items - queue->n_noted,
		      sizeof(*queue->items), compare_items);
}

struct queued *event_queue_note(struct event_queue *queue, uint64_t until_ns)
{
	struct queued *item = queue->items + queue->n_noted;

	if (queue->n_noted == queue->n_items ||
	    (item->time_ns > until_ns && item->time_ns - until_ns < CLOCKS_DIFFER_NS))
		return NULL;
	queue->n_noted++;
	return item;
}

const struct queued *event_queue_handle(struct event_queue *queue)
{
	return queue->n_handled < queue->n_noted ? &queue->items[queue->n_handled++] : NULL;
}

/* Waiting events begin a queue of their own, so that one that is never empty doesn't grow. */
static void move_rest(struct event_queue *queue)
{
	struct event_queue rest = {};

	for (size_t i = queue->n_noted; i < queue->n_items; i++) {
		const struct queued *item = &queue->items[i];

		memcpy(event_queue_add(&rest, item->time_ns, item->size),
		       event_queue_record(queue, item), item->size);
	}
	event_queue_free(queue);
	*queue = rest;
}

/* The memory that a burst took is given back. */
void event_queue_drop(struct event_queue *queue)
{
	if (queue->n_noted < queue->n_items || queue->bytes_cap > USUAL_BYTES)
		move_rest(queue);
	else
		queue->n_bytes = queue->n_items = queue->n_noted = queue->n_handled = 0;
}
