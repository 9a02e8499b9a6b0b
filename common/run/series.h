/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The names of a run's files, one for each report, and their retention. A pattern has the time in
 * it ("cpu-%Y%m%dT%H%M%SZ.pb.gz", UTC); else reports are numbered: cpu.pb.gz makes cpu.001.pb.gz.
 */
#ifndef SERIES_H
#define SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct series {
	const char *path;    /* as --output has it */
	uint32_t keep;	     /* maximum number of files; 0: no limit */
	uint64_t keep_bytes; /* maximum total bytes, except for the latest file; 0: no limit */

	/* Files written so far, oldest first, if some are to be removed; see series_free(). */
	struct series_file *files;
	size_t n_files, capacity;
};

/* True if the file's name has a time in it, so that even a single report is named by it. */
bool series_is_timed(const char *path);

/*
 * Returns the path of a name without a time, with "%%" replaced by "%"; a copy of other names.
 * Freed by the caller.
 */
char *series_plain_path(const char *path);

/*
 * Checks that the pattern is valid and that names of reports that are interval_ns apart differ (0:
 * there is only one). 0, or -EINVAL, printed.
 */
int series_check_pattern(const char *path, uint64_t interval_ns);

/*
 * Checks before anything is attached that no file of an earlier run is in the way. 0, or -EINVAL,
 * printed.
 */
int series_check(const struct series *series, uint64_t start_unix_ns);

/* Returns the name of report n, from 1 on, whose window began then; to be freed. */
char *series_name(const struct series *series, unsigned int n, uint64_t start_unix_ns);

/*
 * Notes a written file, and removes the oldest files of this run that exceed the limits. Other
 * files are never touched, and the latest stays. Prints a warning if a file can't be removed.
 */
void series_keep(struct series *series, const char *latest);

void series_free(struct series *series);

#endif
