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

/* Further numbers of each stack beside its value, and how they are merged when equal stacks are. */
struct column {
	const char *name; /* as in JSON: "runnable", "oldest_ms" */
	enum {
		COLUMN_SUM, /* 0 means absent */
		COLUMN_LEAST,
		COLUMN_MOST,
	} merge;
	/* if the column is a part of the value: name of the remaining part; NULL: none */
	const char *rest;
	/* if the column is a count: its type in pprof; NULL: not written there */
	const char *pprof;
};

/* Cgroup, container and unit of a sample's thread; texts that are unknown or absent are NULL. */
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
	const char *remark;	    /* remark, such as "still running"; NULL: none */
	const struct frame *frames; /* root first, leaf last: user, then kernel, then the waker's */
	size_t n_frames;
	uint64_t value;			   /* in the profile's unit */
	uint64_t columns[PROFILE_COLUMNS]; /* those that the profile has */
	struct sample_group group;	   /* derived from the cgroup */
	const struct frame *const *known;  /* instead of frames: frames of the profile's table */
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
 * must stay valid. table: holds the samples' `known` frames and outlives the profile; NULL: the
 * profile copies frames into its own table.
 */
struct profile *profile_new(const char *unit, const struct column *columns,
			    struct frame_table *table);
void profile_free(struct profile *p);

/* Adds a copy of the sample, merged with an earlier one that differs in its values only. */
void profile_add(struct profile *p, const struct sample *s);

/* Divides every value and its parts, for example to print nanoseconds in microseconds. */
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
