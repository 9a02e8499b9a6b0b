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

#include "base/image.h"

enum frame_kind {
	FRAME_USER,
	FRAME_INLINED, /* user code that the compiler put into its caller */
	FRAME_JIT,     /* user code made at run time */
	FRAME_PYTHON,  /* a function in Python, in the place of the interpreter that runs it */
	FRAME_KERNEL,
	FRAME_MARK, /* not code: a separator or a remark, such as "--" or "[still running]" */
};

/*
 * In profile_add() texts are borrowed; in a profile's samples they are interned. Frames of one
 * function are equal unless they tell their place, so only those who need places ask for them.
 */
struct frame {
	const char *name;
	enum frame_kind kind;
	uint32_t line;	    /* of its source, being executed */
	const char *file;   /* NULL: unknown, or not asked for */
	const char *symbol; /* what the linker calls it; NULL: the same, unknown or not asked for */
	const struct image *image; /* borrowed; NULL: in none, or not asked for */
	uint64_t address; /* in the image, as ELF counts: inside the call where it is a caller's */
};

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

/* Where a thread runs; texts that are unknown, or that there are none of, are NULL. */
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
};

/* What each of a number of samples stands for, such as "cpu", "nanoseconds", 10101010. */
struct sample_period {
	const char *type, *unit;
	uint64_t value;
};

struct profile;

/* unit: "samples", "microseconds", "bytes", ... kept by reference, as are columns. */
struct profile *profile_new(const char *unit);

/* columns: up to one without a name; NULL: none. */
struct profile *profile_new_with(const char *unit, const struct column *columns);
void profile_free(struct profile *p);

/* Adds a copy of the sample; one that differs from an earlier one in its values only is merged. */
void profile_add(struct profile *p, const struct sample *s);

/* Divides every value and its parts, such as nanoseconds to be shown in microseconds. */
void profile_scale(struct profile *p, uint64_t divisor);

/* Hottest first; equal values by comm, pid, then frames, so that output is stable. */
void profile_sort(struct profile *p);

size_t profile_count(const struct profile *p);
const struct sample *profile_sample(const struct profile *p, size_t i);
uint64_t profile_total(const struct profile *p);
const char *profile_unit(const struct profile *p);

/* Of frames in samples of one profile, whose texts are interned. */
uint64_t frame_hash(uint64_t hash, const struct frame *frame);
bool frame_equal(const struct frame *a, const struct frame *b);

/* The column of that number; NULL: there are not so many. */
const struct column *profile_column(const struct profile *p, size_t i);

#endif
