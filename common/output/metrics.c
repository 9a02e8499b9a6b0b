// SPDX-License-Identifier: GPL-2.0-only
/*
 * Metrics since the start of a run; see metrics.h. All histograms have the same edges, from a
 * quarter of a microsecond to 17 s, since servers aggregate buckets by their edge.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/container.h"
#include "base/hash.h"
#include "base/hashtable.h"
#include "base/lru.h"
#include "base/mem.h"
#include "output/metrics.h"

#define FIRST_EDGE_LOG2 4  /* in fixed point, 1/64 us */
#define N_EDGES		53 /* two per octave; the last is 2^4 << 26, 2^24 us */
#define IDLE_NS		(300 * NS_PER_S)

/* Fixed point of hist_usecs, in seconds. */
#define FIXED_PER_S (64 * 1e6)

static const char *const other_values[PROMETHEUS_MAX_LABELS] = { "other", "other", "other",
								 "other", "other", "other" };

struct series {
	struct hashlink link;  /* series of the family, by their label values */
	struct lru_item usage; /* in the order in which they grew last */
	struct series *next;   /* in the order in which they came */
	char *values[PROMETHEUS_MAX_LABELS];
	uint64_t grown_ns;
	uint64_t total;	   /* total of a histogram's values, in fixed point */
	uint64_t *buckets; /* buckets of a histogram, not cumulative; the last has no edge */
};

/* A metric with its series. */
struct family {
	const struct metric *metric;
	struct family *next;
	struct hashtable by_values;
	struct lru usage;
	struct series *first, **last;
	struct series *other; /* the "other" series, outside of the table; NULL: not needed yet */
	size_t n_labels;
};

struct metrics {
	uint32_t max_series;
	struct family *first, **last;
	uint64_t overflows;
	uint64_t now_ns, before_ns; /* times of the current and the previous report */
};

struct metrics *metrics_new(uint32_t max_series)
{
	struct metrics *metrics = mem_zalloc(1, sizeof(*metrics));

	metrics->max_series = max_series;
	metrics->last = &metrics->first;
	return metrics;
}

static void free_series(struct series *series)
{
	if (!series)
		return;
	for (size_t i = 0; i < PROMETHEUS_MAX_LABELS; i++)
		free(series->values[i]);
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
	free_series(family->other);
	hashtable_free(&family->by_values, NULL, NULL);
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

/* Edges coincide with edges of slots; slots come in ascending order. */
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

	while (family && family->metric != metric)
		family = family->next;
	if (family)
		return family;
	family = mem_zalloc(1, sizeof(*family));
	family->metric = metric;
	family->last = &family->first;
	while (family->n_labels < PROMETHEUS_MAX_LABELS && metric->labels[family->n_labels])
		family->n_labels++;
	*metrics->last = family;
	metrics->last = &family->next;
	return family;
}

static uint64_t hash_values(const struct family *family, const char *const *values)
{
	uint64_t hash = family->n_labels;

	for (size_t i = 0; i < family->n_labels; i++)
		hash = hash_add(hash, hash_text(values[i]));
	return hash;
}

static bool are_equal(const struct family *family, const char *const *a, const char *const *b)
{
	for (size_t i = 0; i < family->n_labels; i++)
		if (strcmp(a[i], b[i]))
			return false;
	return true;
}

static struct series *find_series(const struct family *family, const char *const *values,
				  uint64_t hash)
{
	struct hashlink *link = hashtable_first(&family->by_values, hash);

	for (; link; link = hashtable_next(link)) {
		struct series *series = container_of(link, struct series, link);

		if (are_equal(family, (const char *const *)series->values, values))
			return series;
	}
	return NULL;
}

static struct series *new_series(const struct family *family, const char *const *values)
{
	struct series *series = mem_zalloc(1, sizeof(*series));

	for (size_t i = 0; i < family->n_labels; i++)
		series->values[i] = mem_strdup(values[i]);
	if (family->metric->kind == METRIC_HISTOGRAM)
		series->buckets = mem_zalloc(N_EDGES + 1, sizeof(*series->buckets));
	return series;
}

static void remove_series(struct family *family, struct series *series)
{
	struct series **at = &family->first;

	while (*at != series)
		at = &(*at)->next;
	*at = series->next;
	if (!*at)
		family->last = at;
	lru_use(&family->usage, &series->usage, 0);
	hashtable_remove(&family->by_values, &series->link);
	free_series(series);
}

/* A series that grew in the previous report may still grow in this one. */
static bool is_idle(const struct metrics *metrics, const struct series *series)
{
	return metrics->now_ns - series->grown_ns >= IDLE_NS &&
	       series->grown_ns < metrics->before_ns;
}

/* Returns true if one more series fits. */
static bool make_room(const struct metrics *metrics, struct family *family)
{
	struct series *oldest;

	if (family->metric->has_few || family->by_values.count < metrics->max_series)
		return true;
	if (!family->usage.oldest)
		return false;
	oldest = container_of(family->usage.oldest, struct series, usage);
	if (!is_idle(metrics, oldest))
		return false;
	remove_series(family, oldest);
	return true;
}

static struct series *use_other(struct family *family)
{
	if (!family->other)
		family->other = new_series(family, other_values);
	return family->other;
}

static struct series *add_series(struct family *family, const char *const *values, uint64_t hash)
{
	struct series *series = new_series(family, values);

	hashtable_add(&family->by_values, &series->link, hash);
	*family->last = series;
	family->last = &series->next;
	return series;
}

static void note_report(struct metrics *metrics, uint64_t now_ns)
{
	if (now_ns == metrics->now_ns)
		return;
	metrics->before_ns = metrics->now_ns;
	metrics->now_ns = now_ns;
}

/* A thread may have this name, too. */
static bool is_other(const struct family *family, const char *const *values)
{
	return family->n_labels && are_equal(family, values, other_values);
}

static struct series *use_texts(struct metrics *metrics, struct family *family,
				const char *const *texts)
{
	uint64_t hash = hash_values(family, texts);
	struct series *series = find_series(family, texts, hash);

	if (is_other(family, texts))
		return use_other(family);
	if (!series && !make_room(metrics, family)) {
		metrics->overflows++;
		return use_other(family);
	}
	if (!series)
		series = add_series(family, texts, hash);
	series->grown_ns = metrics->now_ns;
	lru_use(&family->usage, &series->usage, 1);
	return series;
}

/*
 * A series is known by its texts, and other values may have the same: `\x01` as four characters
 * stands for itself, and for that byte. Who reads them refuses all if two series are alike.
 */
static struct series *use_series(struct metrics *metrics, const struct metric *metric,
				 const char *const *values, uint64_t now_ns)
{
	struct family *family = find_family(metrics, metric);
	char *texts[PROMETHEUS_MAX_LABELS] = {};
	struct series *series;

	note_report(metrics, now_ns);
	for (size_t i = 0; i < family->n_labels; i++)
		texts[i] = mem_escape(values[i]);
	series = use_texts(metrics, family, (const char *const *)texts);
	for (size_t i = 0; i < family->n_labels; i++)
		free(texts[i]);
	return series;
}

/* ---- filling and writing ---- */

void metrics_add(struct metrics *metrics, const struct metric *metric, const char *const *values,
		 uint64_t amount, uint64_t now_ns)
{
	use_series(metrics, metric, values, now_ns)->total += amount;
}

void metrics_set(struct metrics *metrics, const struct metric *metric, const char *const *values,
		 uint64_t total, uint64_t now_ns)
{
	use_series(metrics, metric, values, now_ns)->total = total;
}

void metrics_add_hist(struct metrics *metrics, const struct metric *metric,
		      const char *const *values, const struct hist *hist, uint64_t now_ns)
{
	struct series *series = use_series(metrics, metric, values, now_ns);
	struct bucketing to = { series->buckets, 0 };

	hist_visit(hist, add_slot, &to);
	series->total += hist_sum(hist);
}

uint64_t metrics_overflows(const struct metrics *metrics)
{
	return metrics->overflows;
}

static void write_hist(FILE *f, const struct series *series, const char *name,
		       const struct prometheus_labels *labels)
{
	uint64_t count = 0;

	for (size_t i = 0; i <= N_EDGES; i++) {
		double edge = i < N_EDGES ? (double)edge_fixed(i) / FIXED_PER_S : INFINITY;

		count += series->buckets[i];
		prometheus_print_bucket(f, name, labels, edge, (double)count);
	}
	prometheus_print_sample(f, name, "_sum", labels, (double)series->total / FIXED_PER_S);
	prometheus_print_sample(f, name, "_count", labels, (double)count);
}

static void write_series(FILE *f, const struct family *family, const struct series *series)
{
	const struct metric *metric = family->metric;
	struct prometheus_labels labels = { .n = family->n_labels };

	for (size_t i = 0; i < labels.n; i++) {
		labels.names[i] = metric->labels[i];
		labels.texts[i] = series->values[i];
	}
	if (metric->kind == METRIC_HISTOGRAM)
		write_hist(f, series, metric->name, &labels);
	else
		prometheus_print_sample(f, metric->name, "", &labels,
					(double)series->total /
						(double)(metric->divisor ? metric->divisor : 1));
}

static const char *const kind_names[] = {
	[METRIC_COUNTER] = "counter",
	[METRIC_GAUGE] = "gauge",
	[METRIC_HISTOGRAM] = "histogram",
};

void metrics_write(FILE *f, const struct metrics *metrics)
{
	for (const struct family *family = metrics->first; family; family = family->next) {
		const struct metric *metric = family->metric;

		prometheus_print_head(f, metric->name, kind_names[metric->kind], metric->help);
		for (const struct series *series = family->first; series; series = series->next)
			write_series(f, family, series);
		if (family->other)
			write_series(f, family, family->other);
	}
}
