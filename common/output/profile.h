/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The one data model of all stack tools: stacks with values. Filled by stacks/stacks.c, written by
 * the writers (writer.h). Equal samples are merged as they are added.
 */
#ifndef PROFILE_H
#define PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "output/frames.h"

/*
 * Other numbers that a tool has for each stack beside its value, and what becomes of them when
 * equal stacks are merged.
 */
struct column {
	const char *name; /* as in JSON: "runnable", "oldest_ms" */
	enum {
		COLUMN_SUM, /* 0 is as good as absent */
		COLUMN_LEAST,
		COLUMN_MOST,
	} merge;
	const char
		*rest; /* of a part of the value, in its unit: what the rest is; NULL: it is none */
	const char *pprof; /* the type of a number of things in pprof; NULL: not written there */
};

/* The thread that a sample is from; texts that are unknown or absent are NULL. */
struct sample_group {
	const char *cgroup; /* its path (v2) */
	const char *container_id, *unit;
};

#define PROFILE_COLUMNS 3
#define COLUMN_ABSENT	UINT64_MAX

struct sample {
	const char *comm;
	uint32_t pid;
	int cpu;		    /* -1: not by CPU */
	char state;		    /* a letter for the state of the task; 0: none */
	const char *remark;	    /* such as "still running"; NULL: none */
	const struct frame *frames; /* root first, leaf last: user, then kernel, then the waker's */
	size_t n_frames;
	uint64_t value;			   /* in the profile's unit */
	uint64_t columns[PROFILE_COLUMNS]; /* those that the profile has */
	struct sample_group group;	   /* what it has follows from the cgroup */
	const struct frame *const *known;  /* instead of frames: those of the profile's table */
	uint32_t tid;			   /* 0: not per thread */
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

struct profile;

/*
 * unit: "samples", "microseconds", "bytes", ... columns: up to one without a name; NULL: none. Both
 * must stay valid. table: where all frames are that samples have as `known`, which outlives the
 * profile; NULL: it copies frames into one of its own.
 */
struct profile *profile_new(const char *unit, const struct column *columns,
			    struct frame_table *table);
void profile_free(struct profile *p);

/* Adds a copy of the sample; one that differs from an earlier one in its values only is merged. */
void profile_add(struct profile *p, const struct sample *s);

/* Divides every value and its parts, such as nanoseconds to be shown in microseconds. */
void profile_scale(struct profile *p, uint64_t divisor);

/* Hottest first; equal values by comm, pid, tid, then frames, so that output is stable. */
void profile_sort(struct profile *p);

/* A profile's own samples have their frames as `known`: equal ones have equal addresses. */
size_t profile_count(const struct profile *p);
const struct sample *profile_sample(const struct profile *p, size_t i);

/* Compares two of them by their threads' names, then by their frames' names. */
int sample_compare_stacks(const struct sample *a, const struct sample *b);

uint64_t profile_total(const struct profile *p);
const char *profile_unit(const struct profile *p);

/* Returns column i; NULL: there are fewer. */
const struct column *profile_column(const struct profile *p, size_t i);

#endif
