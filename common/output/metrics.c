// SPDX-License-Identifier: GPL-2.0-only
/*
 * Metrics since a run's start; see metrics.h. All histograms have the same edges, from 0.25 us to
 * 17 s, since servers aggregate buckets by edge.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/hashtable.h"
#include "base/mem.h"
#include "base/text_stream.h"
#include "output/metrics.h"

#define FIRST_EDGE_LOG2 4  /* the lowest edge is 16/64 us */
#define N_EDGES		53 /* two per octave; the last is 2^4 << 26, 2^24 us */
#define IDLE_NS		(300 * NS_PER_S)

/* Fixed point of hist_usecs, in seconds. */
#define FIXED_PER_S (64 * 1e6)

struct series {
	struct hashlink link; /* hashed by labels */
	struct series *next;  /* next series in the order of creation */
	char *labels;	      /* labels as written: "call=\"read\",comm=\"cat\"" */
	bool has_grown;	      /* grown since the last report */
	uint64_t grown_ns;
	uint64_t total;	   /* total of a histogram's values, in fixed point */
	uint64_t *buckets; /* counts of buckets, not cumulative; the last one has no edge */
};

/* A metric with its series. */
struct family {
	struct metric metric;
	struct family *next;
	struct hashtable by_labels;
	struct series *first, **last;
};

struct metrics {
	struct family *first, **last;
	uint64_t overflows;
};

struct metrics *metrics_new(void)
{
	struct metrics *metrics = mem_zalloc(1, sizeof(*metrics));

	metrics->last = &metrics->first;
	return metrics;
}

static void free_series(struct series *series)
{
	free(series->labels);
	free(series->buckets);
	free(series);
}

static void free_family(struct family *family)
{
	struct series *series = family->first, *next;

	for (; series; series = next) {
		next = series->next;
		free_series(series);
	}
	hashtable_free(&family->by_labels, NULL);
	free(family);
}

void metrics_free(struct metrics *metrics)
{
	struct family *next;

	if (!metrics)
		return;
	for (struct family *family = metrics->first; family; family = next) {
		next = family->next;
		free_family(family);
	}
	free(metrics);
}

/* ---- the edges ---- */

/* Returns the bucket's edge in fixed point: 16, 24, 32, 48, ... */
static uint64_t edge_fixed(size_t i)
{
	return (2 + i % 2) << (FIRST_EDGE_LOG2 - 1 + i / 2);
}

struct bucketing {
	uint64_t *buckets;
	size_t at; /* bucket of the previous slot */
};

/*
 * Adds a slot to its bucket. Buckets' edges are also slots' edges; slots come in ascending order.
 */
static void add_slot(const struct hist_slot *slot, void *arg)
{
	struct bucketing *to = arg;

	while (to->at < N_EDGES && slot->first >= edge_fixed(to->at))
		to->at++;
	to->buckets[to->at] += slot->count;
}

/* ---- finding series ---- */

static struct family *find_family(struct metrics *metrics, const struct metric *metric)
{
	struct family *family = metrics->first;

	while (family && strcmp(family->metric.name, metric->name))
		family = family->next;
	if (family)
		return family;
	family = mem_zalloc(1, sizeof(*family));
	family->metric = *metric;
	family->last = &family->first;
	*metrics->last = family;
	metrics->last = &family->next;
	return family;
}

/* Prints a label with backslash and quote escaped. Escaped values contain no line feed. */
static void print_label(FILE *f, const char *name, const char *value)
{
	char *text = mem_escape(value);

	fprintf(f, "%s=\"", name);
	for (const char *c = text; *c; c++) {
		if (strchr("\\\"", *c))
			fputc('\\', f);
		fputc(*c, f);
	}
	fputc('"', f);
	free(text);
}

/* Returns the written labels, freed with free(). other: value of all labels; NULL: their own. */
static char *labels_text(const struct metric_labels *labels, const char *other)
{
	struct text_stream s;

	text_stream_open(&s);
	for (size_t i = 0; labels && i < labels->n; i++) {
		fputs(i ? "," : "", s.f);
		print_label(s.f, labels->names[i], other ?: labels->values[i]);
	}
	return text_stream_close(&s);
}

static struct series *find_series(const struct family *family, const char *labels)
{
	for_each_linked(struct series, series, link, &family->by_labels, hash_text(labels))
		if (!strcmp(series->labels, labels))
			return series;
	return NULL;
}

static bool is_full(const struct family *family)
{
	return !family->metric.has_few && family->by_labels.count >= METRICS_MAX_SERIES;
}

static struct series *add_series(struct family *family, const char *labels)
{
	struct series *series = mem_zalloc(1, sizeof(*series));

	series->labels = mem_strdup(labels);
	if (family->metric.kind == METRIC_HISTOGRAM)
		series->buckets = mem_zalloc(N_EDGES + 1, sizeof(*series->buckets));
	hashtable_add(&family->by_labels, &series->link, hash_text(labels));
	*family->last = series;
	family->last = &series->next;
	return series;
}

/*
 * Returns the series with these labels; creates it if needed. A series is identified by its written
 * labels, since different values may have equal text: `\x01` as four characters, and as a byte. A
 * server refuses a file with two equal series.
 */
static struct series *use_series(struct metrics *metrics, const struct metric *metric,
				 const struct metric_labels *labels)
{
	struct family *family = find_family(metrics, metric);
	char *text = labels_text(labels, NULL);
	struct series *series = find_series(family, text);

	if (!series && is_full(family)) {
		metrics->overflows++;
		free(text);
		text = labels_text(labels, "other");
		series = find_series(family, text);
	}
	if (!series)
		series = add_series(family, text);
	series->has_grown = true;
	free(text);
	return series;
}

/* ---- filling ---- */

void metrics_add(struct metrics *metrics, const struct metric *metric,
		 const struct metric_labels *labels, uint64_t amount)
{
	use_series(metrics, metric, labels)->total += amount;
}

void metrics_set(struct metrics *metrics, const struct metric *metric,
		 const struct metric_labels *labels, uint64_t total)
{
	use_series(metrics, metric, labels)->total = total;
}

void metrics_add_hist(struct metrics *metrics, const struct metric *metric,
		      const struct metric_labels *labels, const struct hist *hist)
{
	struct series *series = use_series(metrics, metric, labels);
	struct bucketing to = { series->buckets, 0 };

	hist_visit(hist, add_slot, &to);
	series->total += hist_sum(hist);
}

uint64_t metrics_overflows(const struct metrics *metrics)
{
	return metrics->overflows;
}

/* ---- writing ---- */

/*
 * Prints a value. edge: the bucket's; NULL: no bucket. With 15 digits, edges such as 0.001536 and
 * counts up to 10^15 are exact.
 */
static void print_sample(FILE *f, const struct family *family, const struct series *series,
			 const char *suffix, const char *edge, double value)
{
	const char *labels = series->labels;

	fprintf(f, "%s%s", family->metric.name, suffix);
	if (edge)
		fprintf(f, "{%s%sle=\"%s\"}", labels, *labels ? "," : "", edge);
	else if (*labels)
		fprintf(f, "{%s}", labels);
	fprintf(f, " %.15g\n", value);
}

static void write_hist(FILE *f, const struct family *family, const struct series *series)
{
	uint64_t count = 0;

	for (size_t i = 0; i <= N_EDGES; i++) {
		char edge[32] = "+Inf";

		if (i < N_EDGES)
			snprintf(edge, sizeof(edge), "%.15g", (double)edge_fixed(i) / FIXED_PER_S);
		count += series->buckets[i];
		print_sample(f, family, series, "_bucket", edge, (double)count);
	}
	print_sample(f, family, series, "_sum", NULL, (double)series->total / FIXED_PER_S);
	print_sample(f, family, series, "_count", NULL, (double)count);
}

static void write_series(FILE *f, const struct family *family, const struct series *series)
{
	uint64_t divisor = family->metric.divisor ?: 1;

	if (family->metric.kind == METRIC_HISTOGRAM)
		write_hist(f, family, series);
	else
		print_sample(f, family, series, "", NULL, (double)series->total / (double)divisor);
}

static void release_idle(struct family *family, uint64_t now_ns)
{
	struct series **at = &family->first, *series;

	while ((series = *at)) {
		if (now_ns - series->grown_ns < IDLE_NS) {
			at = &series->next;
			continue;
		}
		*at = series->next;
		hashtable_remove(&family->by_labels, &series->link);
		free_series(series);
	}
	family->last = at;
}

static void end_report(struct family *family, uint64_t now_ns)
{
	for (struct series *series = family->first; series; series = series->next) {
		if (series->has_grown)
			series->grown_ns = now_ns;
		series->has_grown = false;
	}
	if (is_full(family))
		release_idle(family, now_ns);
}

void metrics_write(FILE *f, struct metrics *metrics, uint64_t now_ns)
{
	static const char *const kinds[] = {
		[METRIC_COUNTER] = "counter",
		[METRIC_GAUGE] = "gauge",
		[METRIC_HISTOGRAM] = "histogram",
	};

	for (struct family *family = metrics->first; family; family = family->next) {
		const struct metric *metric = &family->metric;

		fprintf(f, "# HELP %s %s\n# TYPE %s %s\n", metric->name, metric->help, metric->name,
			kinds[metric->kind]);
		for (const struct series *series = family->first; series; series = series->next)
			write_series(f, family, series);
		end_report(family, now_ns);
	}
}
