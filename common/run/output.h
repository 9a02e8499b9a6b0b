/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Destination of a result: standard output, or files. A file gets its name when it is complete:
 * readers never see half a picture, a failed run leaves the file of an earlier one alone, and a
 * killed run leaves no file.
 *
 * A run that makes many reports continues when one can't be written, as on a full disk: that report
 * is dropped and counted, and the next is tried.
 */
#ifndef OUTPUT_H
#define OUTPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "run/series.h"

enum output_kind {
	OUTPUT_ONCE,   /* one report, which replaces an earlier run's file */
	OUTPUT_SERIES, /* a file for each report, with a name of its own */
	OUTPUT_LATEST, /* one file, which each report replaces */
};

struct output {
	const char *path; /* NULL: standard output */
	enum output_kind kind;
	struct series series;	/* the retained files; path set by output_check() */
	uint64_t start_unix_ns; /* when the report's window began; may be part of the name */
	bool goes_on; /* lines are written as events happen: a peek shares the report's file */
	bool is_peek; /* the next report gets the same name and repeats all data */

	/* Results. */
	FILE *file;
	unsigned int n; /* committed reports, including dropped ones */
	/* dropped reports: in total, and at the last successful write */
	unsigned int n_dropped, n_dropped_before;
	char *buffer; /* of the stream */
	/* the last peek's file, which a report of the same name replaces; or NULL */
	char *peeked;
	char *temporary; /* its temporary name; NULL: none yet, or it has its final one */
	bool is_special; /* a pipe, a device or standard output: not renamed */
	bool is_sink;	 /* this report is dropped already */
	bool is_named;	 /* named by a peek, and continued */
};

/*
 * Called first in main(): opens descriptors 0 to 2 if closed, so that no file of ours gets their
 * output.
 */
void output_open_standard(void);

/* Flushes standard output. -EIO, printed, if a write fails or has failed. */
int output_flush_standard(void);

/*
 * Checks before anything is attached that a file of that name can be made, and that no file of an
 * earlier run is in the way of a series. 0, or a negative errno, printed.
 */
int output_check(struct output *out);

/*
 * Makes the stream ready: out->file. Prints the reason of a failure; 0 or -errno. From the second
 * report of many on there is always a stream, though what is written to it may be dropped.
 */
int output_begin(struct output *out);

/*
 * Commits the report. A file gets its name, out->file is NULL then, and output_begin() opens the
 * next. 0 or -errno, printed, except for -EPIPE, which is a reader that has seen enough.
 */
int output_commit(struct output *out);

/* Returns true if the latest report was dropped. */
bool output_is_failing(const struct output *out);

/* Discards uncommitted output. Safe at any time. */
void output_discard(struct output *out);

#endif
