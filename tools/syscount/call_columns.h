/* SPDX-License-Identifier: GPL-2.0-only */
/* The columns of numbers in a table of system calls, as many as fit. */
#ifndef CALL_COLUMNS_H
#define CALL_COLUMNS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "output/histogram.h"

/* Numbers of a row. */
struct call_sum {
	uint64_t calls, timed; /* timed: those with a duration */
	uint64_t total_ns, min_ns, max_ns;
	struct hist *hist; /* NULL: nothing is timed */
};

struct call_columns {
	const struct hist_unit *unit; /* of the histograms */
	bool timed;		      /* there are columns of durations */
	bool in_ms;		      /* their sum; else in microseconds */

	/* Filled by call_columns_choose(). */
	bool has_count, has_total;
	unsigned int n_times; /* number of columns about single calls */
};

/*
 * Chooses the columns that fit into the given number of letters: first the count, then the total of
 * the durations, the average, the 99th percentile, the maximum, the median and the minimum.
 */
void call_columns_choose(struct call_columns *columns, unsigned int room);

/* Prints the columns and ends the line. */
void call_columns_print_titles(FILE *f, const struct call_columns *columns);
void call_columns_print(FILE *f, const struct call_columns *columns, const struct call_sum *sum);

/* Returns a percentile of the durations, at least their minimum; 0 without durations. */
double call_sum_percentile_ns(const struct call_sum *sum, const struct hist_unit *unit,
			      double percent);

/* Formats a time in at most six characters: "512ns", "3.42us", "12.3ms", "120s". Returns buf. */
char *call_time_text(char *buf, size_t size, double ns);

#endif
