/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The names of a run's files, one for each report, and how many of them are kept. A pattern has the
 * time in it ("cpu-%Y%m%dT%H%M%SZ.pb.gz", UTC); else reports are numbered: cpu.pb.gz makes
 * cpu.001.pb.gz.
 */
#ifndef SERIES_H
#define SERIES_H

#include <stdbool.h>
#include <stdint.h>

struct series {
	const char *path;    /* as --output has it */
	uint32_t keep;	     /* so many files; 0: all */
	uint64_t keep_bytes; /* in all, but the latest file always; 0: any */
	bool overwrite;
};

/* True if there is a '%' in the path, so that even a single report is named by its time. */
bool series_is_timed(const char *path);

/*
 * Before anything is attached: the pattern makes sense, names of reports that are interval_ns apart
 * differ (0: there is one only), and files of that name are not there yet. 0, or -EINVAL, printed.
 */
int series_check(const struct series *series, uint64_t start_unix_ns, uint64_t interval_ns);

/* The name of report n, from 1 on, whose window began then; to be freed. */
char *series_name(const struct series *series, unsigned int n, uint64_t start_unix_ns);

/*
 * Removes the oldest files that have a name of the series, those of earlier runs included, until no
 * more are left than are to be kept. Other files are never touched, nor is the latest, whatever its
 * name says: the clock may have been set back. A file that can't be removed is warned of.
 */
void series_prune(const struct series *series, const char *latest);

#endif
