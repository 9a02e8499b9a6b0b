/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lines of Prometheus' text format, version 0.0.4 (prometheus.io, "Exposition formats"). Values of
 * labels may be anything: control bytes and what is not valid UTF-8 become \xNN as in all our
 * output.
 */
#ifndef PROMETHEUS_H
#define PROMETHEUS_H

#include <stdio.h>

#define PROMETHEUS_MAX_LABELS 6

struct prometheus_labels {
	const char *names[PROMETHEUS_MAX_LABELS];
	const char *values[PROMETHEUS_MAX_LABELS];
	size_t n;
};

/*
 * The text that stands for a value, to be freed. Others may have the same: `\x01` as four
 * characters stands for itself, and for that byte.
 */
char *prometheus_text(const char *value);

/* The two lines above all samples of a metric. type: "counter", "gauge" or "histogram". */
void prometheus_print_head(FILE *f, const char *name, const char *type, const char *help);

/* One sample. suffix: "", "_sum", "_count". */
void prometheus_print_sample(FILE *f, const char *name, const char *suffix,
			     const struct prometheus_labels *labels, double value);

/* A bucket: how many values were at most `edge`; INFINITY is the last one's. */
void prometheus_print_bucket(FILE *f, const char *name, const struct prometheus_labels *labels,
			     double edge, double count);

#endif
