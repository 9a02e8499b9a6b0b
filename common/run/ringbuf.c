// SPDX-License-Identifier: GPL-2.0-only
/* Records from a ring buffer; see ringbuf.h. */
#include <errno.h>
#include <stdlib.h>

#include "base/loop.h"
#include "base/mem.h"
#include "base/msg.h"
#include "run/bpfmap.h"
#include "run/ringbuf.h"

/* A record takes a header of 8 bytes, and its data rounded up to 8. */
#define RECORD_HEAD_BYTES 8

struct ringbuf {
	struct ring_buffer *ring;
	ring_buffer_sample_fn handle;
	void *arg;
	size_t bytes, bytes_left;      /* the ring's size, and the part of it left for this read */
	void (*then)(struct run *run); /* called after handling records; NULL: none */
	struct run *run;
};

static enum loop_verdict on_records(int fd, void *arg)
{
	struct ringbuf *events = arg;

	(void)fd;
	ringbuf_read(events);
	if (events->then)
		events->then(events->run);
	if (!events->run->out)
		return LOOP_STOP;
	/* For files, errors such as a full disk are reported when the file is closed. */
	return fflush(events->run->out) && events->run->out_is_stream ? LOOP_STOP : LOOP_GO;
}

/*
 * Stops after the ring's size in bytes: producers may be faster than the reader, but the loop must
 * serve other descriptors, too.
 */
static int on_record(void *arg, void *data, size_t size)
{
	struct ringbuf *events = arg;
	size_t bytes = RECORD_HEAD_BYTES + ((size + 7) & ~(size_t)7);
	int err = events->handle(events->arg, data, size);

	events->bytes_left -= bytes < events->bytes_left ? bytes : events->bytes_left;
	return err ? err : events->bytes_left ? 0 : -EAGAIN;
}

struct ringbuf *ringbuf_watch(struct run *run, const char *map_name, ring_buffer_sample_fn handle,
			      void *arg)
{
	struct ringbuf *events = mem_zalloc(1, sizeof(*events));
	struct bpf_map *map = map_find(run, map_name);
	int err;

	events->run = run;
	events->handle = handle;
	events->arg = arg;
	events->bytes = bpf_map__max_entries(map);
	events->ring = ring_buffer__new(bpf_map__fd(map), on_record, events, NULL);
	err = events->ring ? loop_watch(run->loop, ring_buffer__epoll_fd(events->ring), on_records,
					events)
			   : -errno;
	if (!err)
		return events;
	msg_errno(err, "ring buffer %s: open failed", map_name);
	ringbuf_close(events);
	return NULL;
}

int ringbuf_make_urgent(const struct ringbuf *events)
{
	int err = loop_make_urgent(events->run->loop, ring_buffer__epoll_fd(events->ring));

	return err ? msg_errno(err, "ring buffer: watch failed") : 0;
}

void ringbuf_then(struct ringbuf *events, void (*then)(struct run *run))
{
	events->then = then;
}

void ringbuf_read(struct ringbuf *events)
{
	if (!events)
		return;
	events->bytes_left = events->bytes;
	ring_buffer__consume(events->ring);
}

void ringbuf_close(struct ringbuf *events)
{
	if (!events)
		return;
	ring_buffer__free(events->ring);
	free(events);
}
