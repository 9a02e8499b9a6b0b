/* SPDX-License-Identifier: GPL-2.0-only */
/* Ring buffers: records from BPF, handled as they arrive. */
#ifndef RINGBUF_H
#define RINGBUF_H

#include "run/run.h"

struct ringbuf;

/*
 * Calls handle(arg, record, size) for each record of the map while the loop runs, and flushes its
 * output. NULL: failed, printed. Freed with ringbuf_close().
 */
struct ringbuf *ringbuf_watch(struct run *run, const char *map_name, ring_buffer_sample_fn handle,
			      void *arg);

/* Makes the loop handle records immediately, even under load. 0 or -errno, printed. */
int ringbuf_make_urgent(const struct ringbuf *events);

/* Calls then(run) each time after the loop has handled records. */
void ringbuf_then(struct ringbuf *events, void (*then)(struct run *run));

/* Handles the records that are in the buffer, up to its size. NULL: does nothing. */
void ringbuf_read(struct ringbuf *events);
void ringbuf_close(struct ringbuf *events);

#endif
