/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The events of threads as rows in time, for formats that show when something happened: a part of a
 * thread's time each, with its stack and state. Rows are computed once per visit, not stored.
 */
#ifndef TIMELINE_H
#define TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "output/profile.h"
#include "output/writer.h"

enum row_kind { ROW_NONE, ROW_RUN, ROW_BLOCKED, ROW_RUNNABLE, ROW_THROTTLED, ROW_IDLE };

/* Part of a thread's time. */
struct row {
	uint64_t start_ns;	     /* since the start of the report's window */
	uint64_t value;		     /* nanoseconds; if not is_time, samples */
	const struct sample *sample; /* NULL: nothing is known */
	const char *state;	     /* leaf of the stack, without brackets; NULL: none */
	enum row_kind kind;	     /* kind of the state */
	bool is_wait;
};

/* One thread. */
struct track {
	struct event *events; /* ordered by time */
	size_t n;
	const char *process; /* name of the process's main thread; NULL: unknown */
	bool is_time;	     /* events are runs and waits; else samples */
	uint64_t period_ns;  /* sampling period; 0: unknown */
};

typedef void row_fn(void *arg, const struct row *row);

/*
 * Calls visit() for each row of a track, ordered by time. After a sample, a run or a wait that
 * nothing follows, there is a row without a sample.
 */
void track_visit(const struct track *t, row_fn *visit, void *arg);

/* Returns the start of an event, since the start of the report's window. */
uint64_t event_start(const struct event *event);

/* Returns the sampling period in nanoseconds; 0: unknown. facts may be NULL. */
uint64_t timeline_period(const struct writer_facts *facts);

/* Orders the profile's events by process, thread and time; once, before timeline_visit(). */
void timeline_order(const struct profile *p);

/* Calls visit() for the track of each thread, and style's `meanwhile` between them. */
void timeline_visit(const struct profile *p, const struct writer_style *style,
		    void (*visit)(void *arg, const struct track *t), void *arg);

#endif
