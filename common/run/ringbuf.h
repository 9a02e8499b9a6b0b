/* SPDX-License-Identifier: GPL-2.0-only */
/* Records that BPF sends through a ring buffer, handed on as they come. */
#ifndef RINGBUF_H
#define RINGBUF_H

#include "run/run.h"

struct ringbuf;

/*
 * Calls handle(arg, record, size) for each record of the map while the loop runs; what it prints is
 * flushed. NULL, printed, if the ring buffer can't be opened.
 */
struct ringbuf *ringbuf_watch(struct run *run, const char *map_name, ring_buffer_sample_fn handle,
			      void *arg);

/* Makes records be handled at once, even under load. 0 or -errno, printed. */
int ringbuf_make_urgent(const struct ringbuf *events);

/* Calls then(run) each time that the loop has handled records. */
void ringbuf_then(struct ringbuf *events, void (*then)(struct run *run));

/* Handles the records that are in the buffer now; NULL: none. */
void ringbuf_read(struct ringbuf *events);
void ringbuf_close(struct ringbuf *events);

#endif
