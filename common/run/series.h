/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Names of a run's files, one for each report, and their retention. A pattern contains the time
 * ("cpu-%Y%m%dT%H%M%SZ.pb.gz", UTC); without it, reports are numbered: cpu.pb.gz makes
 * cpu.001.pb.gz.
 */
#ifndef SERIES_H
#define SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct series {
	const char *path;    /* argument of --output */
	uint32_t keep;	     /* maximum number of files; 0: no limit */
	uint64_t keep_bytes; /* maximum total bytes, except for the latest file; 0: no limit */

	/* Files written so far, oldest first; only with a limit. Freed with series_free(). */
	struct series_file *files;
	size_t n_files, capacity;
};

/* Returns true if the file name contains a time; then even a single report is named by it. */
bool series_is_timed(const char *path);

/* Copies the path, with "%%" replaced by "%" in a name without a time. Freed by the caller. */
char *series_plain_path(const char *path);

/*
 * Checks that the pattern is valid, and that n reports interval_ns apart get different names (0:
 * there is only one report). 0 or -EINVAL, printed.
 */
int series_check_pattern(const char *path, uint64_t interval_ns, uint64_t n);

/*
 * Checks in advance that no name is too long, and that no earlier run's file would be overwritten.
 * 0 or -errno, printed.
 */
int series_check(const struct series *series, uint64_t start_unix_ns);

/*
 * Returns the name of report n (from 1), whose window began at start_unix_ns. Freed by the caller.
 */
char *series_name(const struct series *series, unsigned int n, uint64_t start_unix_ns);

/*
 * Adds a written file, and removes the run's oldest files beyond the limits, but never the latest,
 * nor other files. Prints a warning if a file can't be removed.
 */
void series_keep(struct series *series, const char *latest);

void series_free(struct series *series);

#endif
