// SPDX-License-Identifier: GPL-2.0-only
/*
 * Histograms: percentiles from log-linear slots, and the table of BCC's tools. Slots are finer than
 * the table's rows, so that a percentile is more exact than a row's edge.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/mem.h"
#include "output/histogram.h"

#define MAX_ROWS  64
#define MAX_VALUE ((1ULL << (HIST_OCTAVES + HIST_SLOT_BITS - 1)) - 1)
#define BAR_WIDTH 40

const struct hist_unit hist_nsecs = { "nsecs", 1ULL << HIST_MULT_BITS, HIST_MULT_BITS, 0 };
const struct hist_unit hist_bytes = { "bytes", 1ULL << HIST_MULT_BITS, HIST_MULT_BITS, 0 };

/*
 * 64 / 1000 and 65536 / 1000000 times 2^44, rounded up so that whole units are not rounded down.
 * The excess at 2^43 ns is 0.19 and 0.08 of a fixed-point unit: a whole unit is always exact, and
 * one nanosecond less is distinguished from it up to 50 minutes.
 */
const struct hist_unit hist_usecs = { "usecs", 1125899906843ULL, 44, 6 };
const struct hist_unit hist_msecs = { "msecs", 1152921504607ULL, 44, 16 };

struct position {
	uint32_t octave, slot;
};

static uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

uint64_t hist_fixed(const struct hist_unit *unit, uint64_t ns)
{
	return hist_scale(min_u64(ns, HIST_MAX_NS), unit->mult, unit->shift);
}

/* Returns how many values share a slot of an octave. */
static uint64_t slot_width(uint32_t octave)
{
	return octave ? 1ULL << (octave - 1) : 1;
}

static uint64_t slot_first(uint32_t octave, uint32_t slot)
{
	return octave ? (HIST_SLOTS_PER_OCTAVE + (uint64_t)slot) << (octave - 1) : slot;
}

static uint64_t slot_last(uint32_t octave, uint32_t slot)
{
	return slot_first(octave, slot) + slot_width(octave) - 1;
}

struct hist *hist_new(void)
{
	return mem_zalloc(1, sizeof(struct hist));
}

void hist_free(struct hist *h)
{
	for (uint32_t i = 0; h && i < HIST_OCTAVES; i++)
		free(h->octaves[i]);
	free(h);
}

static struct hist_octave *make_octave(struct hist *h, uint32_t octave)
{
	if (!h->octaves[octave])
		h->octaves[octave] = mem_zalloc(1, sizeof(*h->octaves[octave]));
	return h->octaves[octave];
}

void hist_record(struct hist *h, uint64_t fixed)
{
	uint64_t v = min_u64(fixed, MAX_VALUE);
	uint32_t octave = hist_octave_of(v);
	struct hist_octave *o = make_octave(h, octave);

	o->slots[hist_slot_of(v, octave)]++;
	o->sum += fixed;
	o->max = max_u64(o->max, fixed);
}

/* Returns the highest slot of an octave that holds a value; -1 if none does. */
static int highest_slot(const struct hist_octave *o)
{
	for (int slot = HIST_SLOTS_PER_OCTAVE - 1; slot >= 0; slot--)
		if (o->slots[slot])
			return slot;
	return -1;
}

void hist_merge_octave(struct hist *h, uint32_t octave, const struct hist_octave *o)
{
	struct hist_octave *to;

	if (octave >= HIST_OCTAVES || highest_slot(o) < 0)
		return;
	to = make_octave(h, octave);
	for (uint32_t i = 0; i < HIST_SLOTS_PER_OCTAVE; i++)
		to->slots[i] += o->slots[i];
	to->sum += o->sum;
	to->max = max_u64(to->max, o->max);
}

void hist_merge(struct hist *h, const struct hist *more)
{
	for (uint32_t i = 0; i < HIST_OCTAVES; i++)
		if (more->octaves[i])
			hist_merge_octave(h, i, more->octaves[i]);
}

static void subtract_octave(struct hist_octave *now, const struct hist_octave *before,
			    uint32_t octave)
{
	int slot;

	for (uint32_t i = 0; i < HIST_SLOTS_PER_OCTAVE; i++)
		now->slots[i] -= before->slots[i];
	now->sum -= before->sum;
	slot = highest_slot(now);
	if (slot < 0)
		now->max = 0;
	else if (now->max == before->max)
		now->max = min_u64(now->max, slot_last(octave, slot));
}

void hist_subtract(struct hist *now, const struct hist *before)
{
	for (uint32_t i = 0; i < HIST_OCTAVES; i++)
		if (now->octaves[i] && before->octaves[i])
			subtract_octave(now->octaves[i], before->octaves[i], i);
}

static uint64_t count_octave(const struct hist_octave *o)
{
	uint64_t count = 0;

	for (uint32_t i = 0; o && i < HIST_SLOTS_PER_OCTAVE; i++)
		count += o->slots[i];
	return count;
}

uint64_t hist_count(const struct hist *h)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < HIST_OCTAVES; i++)
		count += count_octave(h->octaves[i]);
	return count;
}

uint64_t hist_sum(const struct hist *h)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < HIST_OCTAVES; i++)
		sum += h->octaves[i] ? h->octaves[i]->sum : 0;
	return sum;
}

static void visit_octave(const struct hist_octave *o, uint32_t octave,
			 void (*visit)(const struct hist_slot *slot, void *arg), void *arg)
{
	struct hist_slot slot;

	for (uint32_t i = 0; o && i < HIST_SLOTS_PER_OCTAVE; i++) {
		slot.first = slot_first(octave, i);
		slot.below = slot.first + slot_width(octave);
		slot.count = o->slots[i];
		if (slot.count)
			visit(&slot, arg);
	}
}

void hist_visit(const struct hist *h, void (*visit)(const struct hist_slot *slot, void *arg),
		void *arg)
{
	for (uint32_t i = 0; i < HIST_OCTAVES; i++)
		visit_octave(h->octaves[i], i, visit, arg);
}

static double to_unit(const struct hist_unit *unit, double fixed)
{
	return fixed / (double)(1ULL << unit->fraction_bits);
}

/*
 * Returns the maximum. While a value is being recorded, it may be counted in its slot but not in
 * max yet: the result is at least the slot's first value.
 */
static uint64_t max_fixed(const struct hist *h)
{
	for (uint32_t i = HIST_OCTAVES; i-- > 0;) {
		const struct hist_octave *o = h->octaves[i];
		int slot = o ? highest_slot(o) : -1;

		if (slot >= 0)
			return max_u64(o->max, slot_first(i, slot));
	}
	return 0;
}

/* Returns the slot that contains the value of this rank (1 to the count). */
static struct position find_rank(const struct hist *h, uint64_t rank)
{
	struct position at = { 0, 0 };
	uint64_t below;

	for (; at.octave < HIST_OCTAVES - 1; at.octave++, rank -= below) {
		below = count_octave(h->octaves[at.octave]);
		if (below >= rank)
			break;
	}
	while (at.slot < HIST_SLOTS_PER_OCTAVE - 1 && h->octaves[at.octave]->slots[at.slot] < rank)
		rank -= h->octaves[at.octave]->slots[at.slot++];
	return at;
}

/*
 * Returns percent of count, rounded up, minus an epsilon: 99.9 % of 1000 is 999.0000000000001 in
 * doubles.
 */
static uint64_t nearest_rank(uint64_t count, double percent)
{
	double exact = percent / 100 * (double)count * (1 - 1e-12);
	uint64_t rank = (uint64_t)exact;

	if ((double)rank < exact)
		rank++;
	return min_u64(max_u64(rank, 1), count);
}

double hist_percentile(const struct hist *h, const struct hist_unit *unit, double percent)
{
	uint64_t count = hist_count(h), rank = nearest_rank(count, percent);
	struct position at;
	double middle, max = hist_max(h, unit);

	/* The highest value is known exactly. */
	if (rank == count)
		return max;
	at = find_rank(h, rank);
	middle = to_unit(unit, (double)slot_first(at.octave, at.slot) +
				       (double)(slot_width(at.octave) - 1) / 2);
	return middle < max ? middle : max;
}

double hist_average(const struct hist *h, const struct hist_unit *unit)
{
	uint64_t count = hist_count(h);
	double sum = 0;

	for (uint32_t i = 0; i < HIST_OCTAVES; i++)
		sum += h->octaves[i] ? (double)h->octaves[i]->sum : 0;
	return count ? to_unit(unit, sum / (double)count) : 0;
}

double hist_max(const struct hist *h, const struct hist_unit *unit)
{
	return to_unit(unit, (double)max_fixed(h));
}

uint64_t hist_to_ns(const struct hist_unit *unit, double value)
{
	double fixed = value * (double)(1ULL << unit->fraction_bits);

	return (uint64_t)(fixed * (double)(1ULL << unit->shift) / (double)unit->mult + 0.5);
}

/* Returns the row of a value: its power of two in printed units. 0 and 1 share the first row. */
static uint32_t row_of(const struct hist_unit *unit, uint64_t fixed)
{
	uint64_t v = fixed >> unit->fraction_bits;

	return v ? hist_floor_log2(v) : 0;
}

struct rows {
	const struct hist_unit *unit;
	uint64_t counts[MAX_ROWS];
	uint32_t n; /* number of rows, up to the last nonempty one */
};

static void add_to_row(const struct hist_slot *slot, void *arg)
{
	struct rows *rows = arg;
	uint32_t row = row_of(rows->unit, slot->first);

	rows->counts[row] += slot->count;
	rows->n = row + 1;
}

static void print_row(FILE *f, uint32_t row, uint64_t count, uint64_t max_count, bool wide)
{
	static const char stars[] = "****************************************";
	uint64_t first = row ? 1ULL << row : 0, last = (2ULL << row) - 1;
	int width = wide ? 20 : 10, bar = wide ? BAR_WIDTH / 2 : BAR_WIDTH;
	int n_stars = (int)(count * bar / max_count);

	fprintf(f, "%*" PRIu64 " -> %-*" PRIu64 " : %-8" PRIu64 " |%-*.*s|\n", width, first, width,
		last, count, bar, n_stars, stars);
}

static void print_table(FILE *f, const struct hist *h, const struct hist_unit *unit)
{
	struct rows rows = { .unit = unit };
	uint64_t max_count = 0;
	bool wide;

	hist_visit(h, add_to_row, &rows);
	if (!rows.n)
		return;
	wide = rows.n > 33; /* BCC's limit: edges of the last row have more than ten digits */
	for (uint32_t i = 0; i < rows.n; i++)
		max_count = max_u64(max_count, rows.counts[i]);
	fprintf(f, "%*s%-*s : count    distribution\n", wide ? 15 : 5, "", wide ? 29 : 19,
		unit->name);
	for (uint32_t i = 0; i < rows.n; i++)
		print_row(f, i, rows.counts[i], max_count, wide);
}

/* Prints a statistic with at least three digits. Nanoseconds and bytes have no fractions. */
static void print_value(FILE *f, const struct hist_unit *unit, const char *name, double v)
{
	int decimals = v >= 100 ? 0 : v >= 10 ? 1 : v >= 1 ? 2 : 3;

	fprintf(f, "  %s %.*f", name, unit->fraction_bits ? decimals : 0, v);
}

/* Printed statistics. percent: the percentile; 0: the average. */
static const struct statistic {
	const char *text, *key;
	double percent;
} statistics[] = {
	{ "avg", "average", 0 }, { "p50", "p50", 50 },	     { "p90", "p90", 90 },
	{ "p99", "p99", 99 },	 { "p99.9", "p99_9", 99.9 }, { "max", "max", 100 },
};

static double statistic_of(const struct hist *h, const struct hist_unit *unit, size_t i)
{
	double percent = statistics[i].percent;

	return percent ? hist_percentile(h, unit, percent) : hist_average(h, unit);
}

void hist_print(FILE *f, const struct hist *h, const struct hist_unit *unit)
{
	print_table(f, h, unit);
	fprintf(f, "count %" PRIu64, hist_count(h));
	for (size_t i = 0; i < ARRAY_SIZE(statistics); i++)
		print_value(f, unit, statistics[i].text, statistic_of(h, unit, i));
	fputc('\n', f);
}

void hist_print_csv_head(FILE *f)
{
	fputs(",unit,count", f);
	for (size_t i = 0; i < ARRAY_SIZE(statistics); i++)
		fprintf(f, ",%s", statistics[i].key);
}

void hist_print_csv(FILE *f, const struct hist *h, const struct hist_unit *unit)
{
	fprintf(f, ",%s,%" PRIu64, unit->name, hist_count(h));
	for (size_t i = 0; i < ARRAY_SIZE(statistics); i++)
		fprintf(f, ",%.15g", statistic_of(h, unit, i));
}

struct json_buckets {
	struct json *json;
	const struct hist_unit *unit;
};

static void print_bucket(const struct hist_slot *slot, void *arg)
{
	struct json_buckets *to = arg;

	json_open(to->json, NULL, '{');
	json_number(to->json, "from", to_unit(to->unit, (double)slot->first));
	json_number(to->json, "below", to_unit(to->unit, (double)slot->below));
	json_uint(to->json, "count", slot->count);
	json_close(to->json, '}');
}

void hist_print_json(struct json *json, const struct hist *h, const struct hist_unit *unit)
{
	struct json_buckets buckets = { json, unit };

	json_text(json, "unit", unit->name);
	json_uint(json, "count", hist_count(h));
	for (size_t i = 0; i < ARRAY_SIZE(statistics); i++)
		json_number(json, statistics[i].key, statistic_of(h, unit, i));
	json_open(json, "buckets", '[');
	hist_visit(h, print_bucket, &buckets);
	json_close(json, ']');
}
