/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counters since a run's start, by labels, for a scraper: totals and histograms that only grow, in
 * base units, in Prometheus' text format 0.0.4 (prometheus.io, "Exposition formats"). A metric has
 * at most METRICS_MAX_SERIES series; values of further series go to the one whose labels are all
 * "other". A full metric evicts series that have not grown for five minutes: servers consider them
 * stale by then. Label values with the same printed text are equal.
 */
#ifndef METRICS_H
#define METRICS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "output/histogram.h"

#define METRICS_MAX_SERIES 256
#define METRICS_MAX_LABELS 6

enum metric_kind {
	METRIC_COUNTER,
	METRIC_GAUGE,
	METRIC_HISTOGRAM, /* histogram of times, in seconds */
};

/* A metric, declared as constant data and identified by its name. */
struct metric {
	const char *name; /* name with its base unit, and "_total" if a counter */
	const char *help; /* description: one sentence */
	enum metric_kind kind;
	/* divisor that converts added values to base units, such as NS_PER_S; 0: none */
	uint64_t divisor;
	bool has_few; /* few possible label values: METRICS_MAX_SERIES does not apply */
};

/*
 * Labels of a series. Values are copied, names must stay valid. All series of a metric have the
 * same names, in the same order.
 */
struct metric_labels {
	const char *names[METRICS_MAX_LABELS], *values[METRICS_MAX_LABELS];
	size_t n;
};

struct metrics;

struct metrics *metrics_new(void);
void metrics_free(struct metrics *metrics);

/*
 * Adds to the series with these labels (NULL: none); creates it if needed. Adding 0 creates a
 * series before its first event.
 */
void metrics_add(struct metrics *metrics, const struct metric *metric,
		 const struct metric_labels *labels, uint64_t amount);

/* Sets the series to a value: a total since the start, or a gauge. */
void metrics_set(struct metrics *metrics, const struct metric *metric,
		 const struct metric_labels *labels, uint64_t total);

/*
 * Adds the values of a histogram recorded in hist_usecs, whose edges include those of the metric.
 */
void metrics_add_hist(struct metrics *metrics, const struct metric *metric,
		      const struct metric_labels *labels, const struct hist *hist);

/* Returns the number of values that went to "other". */
uint64_t metrics_overflows(const struct metrics *metrics);

/*
 * Ends a report: writes all metrics in the order of their first use, and their series in the order
 * of their creation. now_ns: CLOCK_MONOTONIC.
 */
void metrics_write(FILE *f, struct metrics *metrics, uint64_t now_ns);

#endif
