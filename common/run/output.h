/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Destination of a result: standard output, or files. A file gets its name when it is complete:
 * readers never see a partial file, a failed run doesn't replace an earlier run's file, and a
 * killed run leaves no file.
 *
 * If a report of a run with many can't be written, as on a full disk, it is dropped and counted,
 * and the run continues.
 */
#ifndef OUTPUT_H
#define OUTPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "run/series.h"

enum output_kind {
	OUTPUT_ONCE,   /* one report, which replaces an earlier run's file */
	OUTPUT_SERIES, /* each report gets its own file and name */
	OUTPUT_LATEST, /* one file, replaced by each report */
};

struct output {
	const char *path; /* NULL: standard output */
	enum output_kind kind;
	struct series series;	/* retained files; output_check() sets the path */
	uint64_t start_unix_ns; /* start of the report's window, for names with a time */
	bool goes_on; /* events are printed as they happen: a peek shares the report's file */
	bool is_peek; /* SIGUSR1: the next report gets the same name and repeats all data */

	/* Results. */
	FILE *file;
	unsigned int n; /* committed reports, including dropped ones */
	/* dropped reports: in total, and at the last successful write */
	unsigned int n_dropped, n_dropped_before;
	char *buffer; /* the stream's buffer; NULL: none */
	/* path of the last peek's file, which the report of that name replaces; NULL: none */
	char *peeked;
	char *temporary; /* the file's temporary name; NULL: no name yet, or the final one */
	bool is_special; /* a pipe, a device or standard output: not renamed */
	bool is_sink;	 /* the file can't be opened: this report is dropped */
	bool is_named;	 /* the file was named by a peek and is still being written */
};

/* Called first in main(): opens descriptors 0 to 2 if closed, so that no file gets their output. */
void output_open_standard(void);

/* Flushes standard output. -EIO, printed, if a write fails or has failed. */
int output_flush_standard(void);

/*
 * Checks before anything is attached that the file can be made, and that a series would not
 * overwrite an earlier run's files. 0 or -errno, printed.
 */
int output_check(struct output *out);

/*
 * Opens out->file. 0 or -errno, printed. After the first of many reports an open failure drops the
 * report: out->file is /dev/null.
 */
int output_begin(struct output *out);

/*
 * Commits the report. A file gets its name and is closed (out->file is NULL), unless a peek
 * continues it; output_begin() opens the next. 0 or -errno, printed, except for -EPIPE: the reader
 * has exited.
 */
int output_commit(struct output *out);

/* A complete report's file without its name. */
struct output_draft {
	int fd; /* -1: none, the report was dropped */
	char *temporary;
	uint64_t start_unix_ns;
};

/*
 * Makes the report a draft, and takes it back later, to be committed. output_set_aside(): 0 or
 * -errno, printed. output_take_back(): false: there is no report. A draft ends with
 * output_drop_draft(), also after it was taken back.
 */
int output_set_aside(struct output *out, struct output_draft *draft);
bool output_take_back(struct output *out, struct output_draft *draft);
void output_drop_draft(struct output_draft *draft);

/* Returns true if the latest report was dropped. */
bool output_is_failing(const struct output *out);

/* Discards uncommitted output. Safe at any time. */
void output_discard(struct output *out);

#endif
