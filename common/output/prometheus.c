// SPDX-License-Identifier: GPL-2.0-only
/* Prometheus' text format; see prometheus.h. */
#include <math.h>
#include <string.h>

#include "base/escape.h"
#include "base/mem.h"
#include "output/prometheus.h"

/* In values only the backslash, the quote and the line feed are special: `\\`, `\"` and `\n`. */
static void print_byte(FILE *f, unsigned char c)
{
	if (c == '\n')
		fputs("\\n", f);
	else if (c == '"' || c == '\\')
		fprintf(f, "\\%c", c);
	else
		fprintf(f, "\\\\x%02x", c);
}

char *prometheus_text(const char *value)
{
	size_t size = strlen(value) * strlen("\\xNN") + 1, length;
	char *text = mem_zalloc(size, 1), *end = text;

	while (*value) {
		length = *value == '\n' ? 1 : escape_printable_bytes(value, NULL);
		if (length)
			memcpy(end, value, length);
		else
			snprintf(end, strlen("\\xNN") + 1, "\\x%02x", (unsigned char)*value);
		end += length ? length : strlen("\\xNN");
		value += length ? length : 1;
	}
	return text;
}

static void print_label(FILE *f, char before, const char *name, const char *value)
{
	fprintf(f, "%c%s=\"", before, name);
	while (*value) {
		size_t n = escape_printable_bytes(value, "\"\\");

		if (n)
			fwrite(value, 1, n, f);
		else
			print_byte(f, (unsigned char)*value);
		value += n ? n : 1;
	}
	fputc('"', f);
}

static void print_labels(FILE *f, const struct prometheus_labels *labels, const char *edge)
{
	char before = '{';

	for (size_t i = 0; i < labels->n; i++, before = ',')
		print_label(f, before, labels->names[i], labels->values[i]);
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
