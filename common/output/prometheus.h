/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lines of Prometheus' text format, version 0.0.4 (prometheus.io, "Exposition formats"). Values of
 * labels are texts that can be printed, as of mem_escape().
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

/* The two lines above all samples of a metric. type: "counter", "gauge" or "histogram". */
void prometheus_print_head(FILE *f, const char *name, const char *type, const char *help);

/* One sample. suffix: "", "_sum", "_count". */
void prometheus_print_sample(FILE *f, const char *name, const char *suffix,
			     const struct prometheus_labels *labels, double value);

/* A bucket: how many values were at most `edge`; INFINITY is the last one's. */
void prometheus_print_bucket(FILE *f, const char *name, const struct prometheus_labels *labels,
			     double edge, double count);

#endif
