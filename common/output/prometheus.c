// SPDX-License-Identifier: GPL-2.0-only
/* Prometheus' text format; see prometheus.h. */
#include <math.h>
#include <string.h>

#include "output/prometheus.h"

/*
 * Only the backslash, the quote and the line feed are special in values; no value has a line feed.
 */
static void print_label(FILE *f, char before, const char *name, const char *text)
{
	fprintf(f, "%c%s=\"", before, name);
	for (; *text; text++) {
		if (strchr("\\\"", *text))
			fputc('\\', f);
		fputc(*text, f);
	}
	fputc('"', f);
}

static void print_labels(FILE *f, const struct prometheus_labels *labels, const char *edge)
{
	char before = '{';

	for (size_t i = 0; i < labels->n; i++, before = ',')
		print_label(f, before, labels->names[i], labels->texts[i]);
	if (edge)
		print_label(f, before, "le", edge);
	if (edge || labels->n)
		fputc('}', f);
}

/* 15 digits: edges such as 0.001536 come out as they are meant, and counts up to 10^15 exactly. */
static void print_value(FILE *f, double value)
{
	fprintf(f, " %.15g\n", value);
}

void prometheus_print_head(FILE *f, const char *name, const char *type, const char *help)
{
	fprintf(f, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

void prometheus_print_sample(FILE *f, const char *name, const char *suffix,
			     const struct prometheus_labels *labels, double value)
{
	fprintf(f, "%s%s", name, suffix);
	print_labels(f, labels, NULL);
	print_value(f, value);
}

void prometheus_print_bucket(FILE *f, const char *name, const struct prometheus_labels *labels,
			     double edge, double count)
{
	char text[32] = "+Inf";

	if (!isinf(edge))
		snprintf(text, sizeof(text), "%.15g", edge);
	fprintf(f, "%s_bucket", name);
	print_labels(f, labels, text);
	print_value(f, count);
}
