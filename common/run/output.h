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
	struct series series;	/* retained files; its path is set by output_check() */
	uint64_t start_unix_ns; /* when the report's window began; may be part of the name */
	bool goes_on; /* lines are written as things happen: a peek's file is the report's, too */
	bool is_peek; /* the next report, which gets the same name, has all of it again */

	/* Results. */
	FILE *file;
	unsigned int n; /* reports that were committed, dropped ones included */
	unsigned int n_dropped, n_dropped_before; /* in all, and until writing worked last */
	char *buffer;				  /* of the stream */
	char *peeked;	 /* the last peek's file, which a report of that name replaces; or NULL */
	char *temporary; /* its name meanwhile; NULL: has none yet, or keeps the one it has */
	bool is_special; /* a pipe or a device, or standard output: is not renamed */
	bool is_sink;	 /* this report is dropped already */
	bool is_named;	 /* by a peek, and it goes on */
};

/*
 * At the beginning of main(): descriptors 0 to 2 are open, or a file of ours would get what is
 * written to one of them.
 */
void output_open_standard(void);

/* Writes what standard output still has to write. -EIO, printed, if that fails or has failed. */
int output_flush_standard(void);

/*
 * Before anything is attached: there can be a file of that name, and no file of an earlier run is
 * in the way of a series. 0, or a negative errno, printed.
 */
int output_check(struct output *out);

/*
 * Makes the stream ready: out->file. Prints the reason of a failure; 0 or -errno. From the second
 * report of many on there is always a stream, though what is written to it may be dropped.
 */
int output_begin(struct output *out);

/*
 * Writes out what there is. A file gets its name, out->file is NULL then, and output_begin() opens
 * the next. 0 or -errno, printed, except for -EPIPE, which is a reader that has seen enough.
 */
int output_commit(struct output *out);

/* True if the latest report was dropped. */
bool output_is_failing(const struct output *out);

/* Throws away what was not committed. Safe at any time. */
void output_discard(struct output *out);

#endif
