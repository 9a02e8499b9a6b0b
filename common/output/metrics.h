/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counters of a run since its start, by labels, for a scraper: totals and histograms that only
 * grow, in base units, in Prometheus' text format 0.0.4 (prometheus.io, "Exposition formats"). A
 * metric has at most METRICS_MAX_SERIES series; values of further ones go to the series whose
 * labels are all "other". A full metric releases series that have not grown for five minutes, when
 * a server considers them stale. Label values that are printed alike are one value.
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
	METRIC_HISTOGRAM, /* of times, in seconds */
};

/* A metric, declared as constant data and identified by its name. */
struct metric {
	const char *name; /* with its base unit, and "_total" if it is a counter */
	const char *help; /* one sentence */
	enum metric_kind kind;
	/* divisor that converts added values to base units, such as NS_PER_S; 0: none */
	uint64_t divisor;
	bool has_few; /* few possible label values: METRICS_MAX_SERIES does not apply */
};

/* Labels. Values are copied, names must stay valid. A metric always has the same names in order. */
struct metric_labels {
	const char *names[METRICS_MAX_LABELS], *values[METRICS_MAX_LABELS];
	size_t n;
};

struct metrics;

struct metrics *metrics_new(void);
void metrics_free(struct metrics *metrics);

/*
 * Adds to the series with those labels (NULL: none); creates it if needed. Adding 0 makes a series
 * known before it has counted anything.
 */
void metrics_add(struct metrics *metrics, const struct metric *metric,
		 const struct metric_labels *labels, uint64_t amount);

/* Sets the series to a value that is a total already, or a gauge. */
void metrics_set(struct metrics *metrics, const struct metric *metric,
		 const struct metric_labels *labels, uint64_t total);

/* Adds the values of a histogram that was recorded in hist_usecs, whose edges are powers of two. */
void metrics_add_hist(struct metrics *metrics, const struct metric *metric,
		      const struct metric_labels *labels, const struct hist *hist);

/* Returns how often values went to "other". */
uint64_t metrics_overflows(const struct metrics *metrics);

/*
 * Ends a report: writes all metrics in the order of their first use, and their series in the order
 * of their creation. now_ns: by the monotonic clock.
 */
void metrics_write(FILE *f, struct metrics *metrics, uint64_t now_ns);

#endif
