/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Data model of all stack tools: stacks with values. Filled by stacks/stacks.c, written by the
 * writers (writer.h). Equal samples are merged when they are added.
 */
#ifndef PROFILE_H
#define PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "output/frames.h"

/* An additional number of each stack, and how it is merged for equal stacks. */
struct column {
	const char *name; /* name in JSON: "runnable", "oldest_ms" */
	enum {
		COLUMN_SUM, /* total; 0: absent */
		COLUMN_LEAST,
		COLUMN_MOST,
	} merge;
	/* for a column that is a part of the value: name of the remaining part; NULL: not a part */
	const char *rest;
	/* sample type and unit in pprof; type NULL: not in pprof; unit NULL: "count" */
	const char *pprof, *pprof_unit;
};

/* Cgroup, container and unit of a sample's thread; texts that are unknown or absent are NULL. */
struct sample_group {
	const char *cgroup; /* path in cgroup2 */
	const char *container_id, *unit;
};

#define PROFILE_COLUMNS 6
#define COLUMN_ABSENT	UINT64_MAX

#define SAMPLE_ANY_PID UINT32_MAX

struct sample {
	const char *comm;
	uint32_t pid;		    /* SAMPLE_ANY_PID: merged over processes */
	int cpu;		    /* CPU number; -1: not per CPU */
	char state;		    /* letter of the task's state; 0: none */
	const char *remark;	    /* such as "blocked at end"; NULL: none */
	const struct frame *frames; /* root first, leaf last: user, then kernel, then the waker's */
	size_t n_frames;
	uint64_t value;			   /* value in the profile's unit */
	uint64_t columns[PROFILE_COLUMNS]; /* values of the profile's columns */
	struct sample_group group;	   /* all NULL: none */
	const struct frame *const *known;  /* replaces `frames`: frames in the profile's table */
	uint32_t tid;			   /* thread id; 0: not per thread */
};

static inline const struct frame *sample_frame(const struct sample *s, size_t i)
{
	return s->known ? s->known[i] : &s->frames[i];
}

/* Sampling period: event, unit and number, such as "cpu", "nanoseconds", 10101010. */
struct sample_period {
	const char *type, *unit;
	uint64_t value;
};

enum event_kind {
	EVENT_SAMPLE, /* a thread was on CPU at end_ns */
	EVENT_RUN,    /* a thread was on CPU up to end_ns; its samples have the stacks */
	EVENT_WAIT,   /* a thread waited up to end_ns */
};

/* One event of a sample, for formats that show when something happened. */
struct event {
	uint64_t end_ns; /* since the start of the report's window */
	uint64_t value;	 /* value; of a run or a wait its length in nanoseconds */
	/* part: runnable nanoseconds at a wait's end; is_hidden: a run or sample not to be shown */
	uint64_t part : 61, kind : 2, is_hidden : 1;
	union {
		const struct sample *sample;
		uint64_t key; /* number of the sample's key, while events are collected */
	};
};

struct profile;

/*
 * unit: such as "samples", "microseconds", "bytes". columns: ended by one without a name; NULL:
 * none. Both must stay valid. table: contains the samples' `known` frames and outlives the profile;
 * NULL: the profile copies frames into its own table.
 */
struct profile *profile_new(const char *unit, const struct column *columns,
			    struct frame_table *table);
void profile_free(struct profile *p);

/*
 * Adds a copy of the sample, or its values to an earlier sample that is equal except for values.
 * Returns the profile's sample.
 */
const struct sample *profile_add(struct profile *p, const struct sample *s);

/*
 * profile_set_events() lends the profile the events of its samples, in no order, and
 * profile_events() returns them; the writer may change them.
 */
void profile_set_events(struct profile *p, struct event *events, size_t n);
struct event *profile_events(const struct profile *p, size_t *n);

/*
 * Divides all values, and columns that are parts of them, for example from ns to us. The sum of the
 * values is the divided total: a value may be rounded up.
 */
void profile_scale(struct profile *p, uint64_t divisor);

/* Sorts by value, largest first, then by comm, pid, tid and frames, so that output is stable. */
void profile_sort(struct profile *p);

/*
 * Return the number of samples, and a sample. `known` has its frames, equal ones at equal
 * addresses.
 */
size_t profile_count(const struct profile *p);
const struct sample *profile_sample(const struct profile *p, size_t i);

/* Compares two samples of a profile by comm, then by the names of their frames. */
int sample_compare_stacks(const struct sample *a, const struct sample *b);

uint64_t profile_total(const struct profile *p);
const char *profile_unit(const struct profile *p);

/* Returns column i; NULL: fewer columns. */
const struct column *profile_column(const struct profile *p, size_t i);

#endif
