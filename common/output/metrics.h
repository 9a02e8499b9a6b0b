/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counters of a run since its start, by labels, for a scraper: totals and histograms that only
 * grow, in base units. The number of series of a metric is bounded. Beyond it a new one replaces
 * one that has not grown for five minutes (a server has forgotten it by then), nor in the report
 * before; if there is none, its values go to the series whose labels are all "other". Label values
 * with equal texts are equal, see prometheus.h.
 */
#ifndef METRICS_H
#define METRICS_H

#include <stdint.h>
#include <stdio.h>

#include "base/clock.h"
#include "output/histogram.h"
#include "output/prometheus.h"

enum metric_kind {
	METRIC_COUNTER,
	METRIC_GAUGE,
	METRIC_HISTOGRAM, /* of times, in seconds */
};

/* A metric, declared as constant data and identified by its address. */
struct metric {
	const char *name; /* with its base unit, and "_total" if it is a counter */
	const char *help; /* one sentence */
	enum metric_kind kind;
	/* divisor that converts added values to base units, such as NS_PER_S; 0: none */
	uint64_t divisor;
	bool has_few; /* one series per reason, not per target: exempt from max_series */
	const char *labels[PROMETHEUS_MAX_LABELS]; /* names of labels, terminated by NULL */
};

struct metrics;

/* max_series: limit per metric, besides "other". */
struct metrics *metrics_new(uint32_t max_series);
void metrics_free(struct metrics *metrics);

/*
 * Adds to the series with those label values, one per label of the metric, copied; creates it if
 * needed. now_ns: when the report ends, by the monotonic clock; the same for all of it. Adding 0
 * makes a series known before it has counted anything.
 */
void metrics_add(struct metrics *metrics, const struct metric *metric, const char *const *values,
		 uint64_t amount, uint64_t now_ns);

/* Sets the series to a value that is a total already, or a gauge. */
void metrics_set(struct metrics *metrics, const struct metric *metric, const char *const *values,
		 uint64_t total, uint64_t now_ns);

/* Adds the values of a histogram that was recorded in hist_usecs, whose edges are powers of two. */
void metrics_add_hist(struct metrics *metrics, const struct metric *metric,
		      const char *const *values, const struct hist *hist, uint64_t now_ns);

/* Returns how often values went to "other" because --max-series was reached. */
uint64_t metrics_overflows(const struct metrics *metrics);

/*
 * Writes all metrics in the order of their first use, and their series in the order of their
 * creation.
 */
void metrics_write(FILE *f, const struct metrics *metrics);

#endif
