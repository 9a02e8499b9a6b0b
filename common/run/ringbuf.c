// SPDX-License-Identifier: GPL-2.0-only
/* Records from a ring buffer; see events.h. */
#include <errno.h>
#include <stdlib.h>

#include "run/bpfmap.h"
#include "run/ringbuf.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/msg.h"

struct events {
	struct ring_buffer *ring;
	FILE *out;
	void (*then)(struct run *run); /* NULL: nothing */
	struct run *run;
};

static enum loop_verdict on_records(int fd, void *arg)
{
	struct events *events = arg;

	(void)fd;
	events_read(events);
	if (events->then)
		events->then(events->run);
	return fflush(events->out) ? LOOP_STOP : LOOP_GO;
}

struct events *events_watch(struct run *run, const char *map_name, ring_buffer_sample_fn handle,
			    void *arg)
{
	struct events *events = mem_zalloc(1, sizeof(*events));
	int err;

	events->out = run->out;
	events->ring = ring_buffer__new(bpf_map__fd(map_find(run, map_name)), handle, arg, NULL);
	err = events->ring ? loop_watch(run->loop, ring_buffer__epoll_fd(events->ring), on_records,
					events)
			   : -errno;
	if (!err)
		return events;
	msg_errno(err, "opening the ring buffer %s", map_name);
	events_close(events);
	return NULL;
}

void events_then(struct events *events, void (*then)(struct run *run), struct run *run)
{
	events->then = then;
	events->run = run;
}

void events_read(struct events *events)
{
	ring_buffer__consume(events->ring);
}

void events_close(struct events *events)
{
	if (!events)
		return;
	ring_buffer__free(events->ring);
	free(events);
}
