/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where a result goes: standard output, or files. A file is written under a temporary name beside
 * its own and renamed when it is whole, so that nobody ever reads half a picture, and a failed run
 * leaves the file of an earlier one alone.
 */
#ifndef OUTPUT_H
#define OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

struct output {
	const char *path; /* NULL: standard output */
	bool is_series;	  /* one file for each commit: cpu.svg becomes cpu.001.svg and so on */
	unsigned int n;	  /* files so far */
	char *temporary;  /* NULL: standard output, a pipe or a device, which are not renamed */
	FILE *file;
};

/* Makes the stream ready: out->file. Prints the reason of a failure; 0 or -errno. */
int output_begin(struct output *out);

/*
 * Writes out what there is. A file gets its name, out->file is NULL then, and output_begin() opens
 * the next. 0 or -errno, printed, except for -EPIPE, which is a reader that has seen enough.
 */
int output_commit(struct output *out);

/* Throws away what was not committed. Safe at any time. */
void output_discard(struct output *out);

#endif
