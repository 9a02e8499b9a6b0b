/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lines of Prometheus' text format, version 0.0.4 (prometheus.io, "Exposition formats"). Label
 * values must be printable, as mem_escape() makes them.
 */
#ifndef PROMETHEUS_H
#define PROMETHEUS_H

#include <stdio.h>

#define PROMETHEUS_MAX_LABELS 6

struct prometheus_labels {
	const char *names[PROMETHEUS_MAX_LABELS];
	const char *texts[PROMETHEUS_MAX_LABELS];
	size_t n;
};

/* Writes the two lines above all samples of a metric. type: "counter", "gauge" or "histogram". */
void prometheus_print_head(FILE *f, const char *name, const char *type, const char *help);

/* Writes one sample. suffix: "", "_sum", "_count". */
void prometheus_print_sample(FILE *f, const char *name, const char *suffix,
			     const struct prometheus_labels *labels, double value);

/* Writes a bucket: the number of values of at most `edge`; INFINITY for the last one. */
void prometheus_print_bucket(FILE *f, const char *name, const struct prometheus_labels *labels,
			     double edge, double count);

#endif
