/* SPDX-License-Identifier: GPL-2.0-only */
/* Records that BPF sends through a ring buffer, handed on as they come. */
#ifndef EVENTS_H
#define EVENTS_H

#include "run/tool.h"

struct events;

/*
 * Calls handle(arg, record, size) for each record of the map while the loop runs; what it prints is
 * flushed. NULL, printed, if the ring buffer can't be opened.
 */
struct events *events_watch(struct run *run, const char *map_name, ring_buffer_sample_fn handle,
			    void *arg);

/* Calls then(run) each time that the loop has handled records. */
void events_then(struct events *events, void (*then)(struct run *run), struct run *run);

/* Handles what there is now. */
void events_read(struct events *events);
void events_close(struct events *events);

#endif
