// SPDX-License-Identifier: GPL-2.0-only
/* Histograms: conversion, percentiles against sorted values, intervals, BCC's table. */
#include "output/histogram.h"
#include "../random.h"
#include "unit.h"

static const struct hist_unit *const units[] = { &hist_nsecs, &hist_usecs, &hist_msecs };

static struct hist *h, *before, *now;

BEFORE_EACH()
{
	h = hist_new();
	before = hist_new();
	now = hist_new();
}

AFTER_EACH()
{
	hist_free(h);
	hist_free(before);
	hist_free(now);
}

/* Returns true if both have equal values. A missing octave has no values. */
static bool hists_are_equal(const struct hist *a, const struct hist *b)
{
	static const struct hist_octave empty;
	bool are_equal = true;

	for (uint32_t i = 0; i < HIST_OCTAVES; i++)
		are_equal &= !memcmp(a->octaves[i] ? a->octaves[i] : &empty,
				     b->octaves[i] ? b->octaves[i] : &empty, sizeof(empty));
	return are_equal;
}

static uint64_t unit_ns(const struct hist_unit *unit)
{
	return unit == &hist_nsecs ? 1 : unit == &hist_usecs ? 1000 : 1000000;
}

/* Returns the converted time, by division. No overflow: 2^43 * 2^16 fits. */
static uint64_t exact_fixed(const struct hist_unit *unit, uint64_t ns)
{
	return (ns << unit->fraction_bits) / unit_ns(unit);
}

static char *printed(const struct hist_unit *unit)
{
	return PRINTED(f, hist_print(f, h, unit));
}

static void record_ns(const struct hist_unit *unit, uint64_t ns, int times)
{
	while (times-- > 0)
		hist_record(h, hist_fixed(unit, ns));
}

TEST(octaves_and_slots_are_contiguous)
{
	uint32_t octave = 0, slot = 0;
	int wrong = 0;

	for (uint64_t v = 0; v < 1 << 20; v++) {
		uint32_t o = hist_octave_of(v), s = hist_slot_of(v, o);

		if (o != octave || s != slot) {
			wrong += !((o == octave && s == slot + 1) ||
				   (o == octave + 1 && s == 0 && slot == 31));
			octave = o;
			slot = s;
		}
	}
	CHECK_EQ(wrong, 0);
	CHECK_EQ(octave, 15);
	CHECK_EQ(slot, 31);
	CHECK_EQ(hist_octave_of(32), 1);
	CHECK_EQ(hist_octave_of(1ULL << 43), 39);
	CHECK_EQ(hist_octave_of(UINT64_MAX), HIST_OCTAVES - 1);
}

static bool is_exact(const struct hist_unit *unit, uint64_t k)
{
	return hist_fixed(unit, k * unit_ns(unit)) == k << unit->fraction_bits;
}

static bool is_above_what_is_less(const struct hist_unit *unit, uint64_t k)
{
	return hist_fixed(unit, k * unit_ns(unit) - 1) >> unit->fraction_bits == k - 1;
}

/*
 * The rows' edges: a value is never in the row below, up to the largest value there is; and up to
 * 45 minutes, one nanosecond less is.
 */
TEST(whole_units_are_exact)
{
	for (size_t u = 0; u < ARRAY_SIZE(units); u++) {
		uint64_t largest = HIST_MAX_NS / unit_ns(units[u]), wrong = 0;
		uint64_t in_45_min = 2700 * NS_PER_S / unit_ns(units[u]);

		for (uint64_t k = 1; k <= 1 << 20; k++)
			wrong += !is_exact(units[u], k) || !is_above_what_is_less(units[u], k);
		for (uint64_t power = 1 << 20; power <= largest; power *= 2) {
			for (uint64_t k = power - 100; k <= power + 100 && k <= largest; k++)
				wrong += !is_exact(units[u], k);
			wrong += power <= in_45_min && !is_above_what_is_less(units[u], power);
		}
		wrong += !is_exact(units[u], largest);
		CHECK_EQ(wrong, 0);
	}
}

/*
 * The excess of the multiplier reaches the distance of a fraction to the next whole number, 1/125
 * and 1/15625, at 2^38 and 2^32 ns at the earliest; it never reaches two.
 */
TEST(conversion_is_a_division)
{
	random_state = 1;
	for (size_t u = 0; u < ARRAY_SIZE(units); u++) {
		uint64_t exact_below = units[u] == &hist_msecs ? 1ULL << 32 : 1ULL << 38;
		int wrong = 0;

		for (int i = 0; i < 1000000; i++) {
			uint64_t bits = random_u64() % 43, ns = random_u64() >> (21 + bits);
			uint64_t excess = hist_fixed(units[u], ns) - exact_fixed(units[u], ns);

			wrong += excess > (ns >= exact_below);
		}
		CHECK_EQ(wrong, 0);
	}
}

TEST(units_are_so_many_nanoseconds)
{
	CHECK_EQ(hist_to_ns(&hist_nsecs, 97), 97);
	CHECK_EQ(hist_to_ns(&hist_usecs, 1), 1000);
	CHECK_EQ(hist_to_ns(&hist_usecs, 0.25), 250);
	CHECK_EQ(hist_to_ns(&hist_msecs, 90.5), 90500000);
	CHECK_EQ(hist_to_ns(&hist_msecs, 0), 0);
}

TEST(largest_value_does_not_overflow)
{
	for (size_t u = 0; u < ARRAY_SIZE(units); u++) {
		uint64_t largest = hist_fixed(units[u], HIST_MAX_NS);

		CHECK_EQ(largest, exact_fixed(units[u], HIST_MAX_NS));
		CHECK_EQ(hist_fixed(units[u], HIST_MAX_NS + 1), largest);
		CHECK_EQ(hist_fixed(units[u], UINT64_MAX), largest);
		CHECK(hist_octave_of(largest) < HIST_OCTAVES - 1);
	}
}

TEST(empty_histogram_is_zero)
{
	CHECK_EQ(hist_count(h), 0);
	CHECK(hist_percentile(h, &hist_usecs, 50) == 0);
	CHECK(hist_percentile(h, &hist_usecs, 100) == 0);
	CHECK(hist_average(h, &hist_usecs) == 0);
	CHECK(hist_max(h, &hist_usecs) == 0);
	CHECK_STR(printed(&hist_usecs),
		  "count 0  avg 0.000  p50 0.000  p90 0.000  p99 0.000  p99.9 0.000  "
		  "max 0.000\n");
	CHECK_STR(printed(&hist_nsecs), "count 0  avg 0  p50 0  p90 0  p99 0  p99.9 0  max 0\n");
}

static void check_percentile(const struct hist_unit *unit, double percent, double expected)
{
	double got = hist_percentile(h, unit, percent);

	if (got != expected)
		UNIT_FAIL("p%g is %g, not %g", percent, got, expected);
}

TEST(one_value_is_every_percentile)
{
	record_ns(&hist_usecs, 123456000, 1);
	check_percentile(&hist_usecs, 0.001, 123456);
	check_percentile(&hist_usecs, 50, 123456);
	check_percentile(&hist_usecs, 100, 123456);
	CHECK(hist_average(h, &hist_usecs) == 123456);
	CHECK(hist_max(h, &hist_usecs) == 123456);
}

/* Slots of width 1 hold one value: ranks come out without any error. */
TEST(small_values_are_exact)
{
	for (uint64_t v = 1; v <= 63; v++)
		hist_record(h, v);
	check_percentile(&hist_nsecs, 50, 32);
	check_percentile(&hist_nsecs, 90, 57);
	check_percentile(&hist_nsecs, 100.0 / 63, 1);
	check_percentile(&hist_nsecs, 99.9, 63);
	CHECK(hist_average(h, &hist_nsecs) == 32);
}

static const struct {
	int times;
	uint64_t value, last; /* 0: none */
	double percent, expected;
} ranks[] = {
	/* not pushed up by rounding */
	{ 999, 1, 50, 99.9, 1 },   { 999, 1, 50, 99.91, 50 },
	{ 999, 1, 50, 100, 50 },   { 10, 1024, 5000, 50, 1039.5 }, /* the middle of 1024..1055 */
	{ 10, 1025, 0, 50, 1025 },				   /* but never above the maximum */
};

TEST(ranks_have_their_slots_middle)
{
	for (size_t i = 0; i < ARRAY_SIZE(ranks); i++) {
		unit_after_each();
		unit_before_each();
		record_ns(&hist_nsecs, ranks[i].value, ranks[i].times);
		record_ns(&hist_nsecs, ranks[i].last, ranks[i].last ? 1 : 0);
		check_percentile(&hist_nsecs, ranks[i].percent, ranks[i].expected);
		CHECK(hist_max(h, &hist_nsecs) == (double)(ranks[i].last ? ranks[i].last : 1025));
	}
}

static int compare_u64(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* The share of values at or below, rounded up: the definition of nearest rank, in integers. */
static uint64_t sorted_percentile(const uint64_t *values, uint64_t n, uint64_t permille)
{
	uint64_t rank = (n * permille + 999) / 1000;

	return values[(rank ? rank : 1) - 1];
}

/*
 * Within 3 %, and half of a fixed-point step for the values that are smaller than a few of them.
 */
static void check_percentiles(const struct hist_unit *unit, uint64_t *values, size_t n)
{
	static const uint64_t permilles[] = { 1, 10, 100, 250, 500, 900, 990, 999, 1000 };
	double step = 1.0 / (double)(1ULL << unit->fraction_bits), sum = 0, previous = 0;

	hist_free(h);
	h = hist_new();
	for (size_t i = 0; i < n; i++) {
		hist_record(h, hist_fixed(unit, values[i]));
		sum += (double)values[i] / (double)unit_ns(unit);
	}
	qsort(values, n, sizeof(*values), compare_u64);
	for (size_t i = 0; i < ARRAY_SIZE(permilles); i++) {
		double exact =
			(double)sorted_percentile(values, n, permilles[i]) / (double)unit_ns(unit);
		double got = hist_percentile(h, unit, (double)permilles[i] / 10);
		double error = got > exact ? got - exact : exact - got;

		if (error > 0.03 * exact + step)
			UNIT_FAIL("%s p%g of %zu: %g, not %g", unit->name,
				  (double)permilles[i] / 10, n, got, exact);
		CHECK(got >= previous);
		CHECK(got <= hist_max(h, unit));
		previous = got;
	}
	CHECK_EQ(hist_count(h), n);
	sum /= (double)n;
	CHECK(hist_average(h, unit) <= sum * 1.000001 + step);
	CHECK(hist_average(h, unit) >= sum * 0.999999 - step);
}

static uint64_t draw_uniform(uint64_t scale)
{
	return random_u64() % scale;
}

/* The number of coin tosses plus a fraction: exponential in steps of its half-life. */
static uint64_t draw_exponential(uint64_t scale)
{
	return (uint64_t)__builtin_ctzll(random_u64() | 1ULL << 40) * scale + draw_uniform(scale);
}

static uint64_t draw_bimodal(uint64_t scale)
{
	return random_u64() % 10 ? scale / 100 + draw_uniform(scale / 50 + 1)
				 : scale * 20 + draw_uniform(scale);
}

static uint64_t draw_constant(uint64_t scale)
{
	return scale;
}

static void check_distribution(uint64_t (*draw)(uint64_t scale))
{
	static const uint64_t scales[] = { 1, 10, 3000, 77777, 5000000, 20000000000 };
	static const size_t counts[] = { 1, 7, 1000, 20000 };
	uint64_t *values = mem_zalloc(20000, sizeof(*values));

	random_state = 42;
	for (size_t u = 0; u < ARRAY_SIZE(units); u++)
		for (size_t s = 0; s < ARRAY_SIZE(scales); s++)
			for (size_t c = 0; c < ARRAY_SIZE(counts); c++) {
				for (size_t i = 0; i < counts[c]; i++)
					values[i] = draw(scales[s]);
				check_percentiles(units[u], values, counts[c]);
			}
	free(values);
}

TEST(percentiles_are_those_of_sorted_values)
{
	check_distribution(draw_uniform);
	check_distribution(draw_exponential);
	check_distribution(draw_bimodal);
	check_distribution(draw_constant);
}

TEST(octaves_of_several_cpus_are_merged)
{
	random_state = 7;
	for (int i = 0; i < 10000; i++) {
		uint64_t v = random_u64() >> (20 + random_u64() % 44);

		hist_record(i % 3 ? before : now, v);
		hist_record(h, v);
	}
	hist_merge(before, now);
	CHECK(hists_are_equal(before, h));
	hist_merge_octave(before, HIST_OCTAVES, now->octaves[10]);
	hist_merge_octave(before, UINT32_MAX, now->octaves[10]);
	CHECK(hists_are_equal(before, h));
}

TEST(values_beyond_the_last_slot_are_counted_in_it)
{
	hist_record(h, UINT64_MAX);
	hist_record(h, 1ULL << 60);
	CHECK_EQ(h->octaves[HIST_OCTAVES - 1]->slots[HIST_SLOTS_PER_OCTAVE - 1], 2);
	CHECK(hist_max(h, &hist_nsecs) == (double)UINT64_MAX);
}

static void record_each(struct hist *to, const struct hist_unit *unit, const uint64_t *ns, size_t n)
{
	for (size_t i = 0; i < n; i++)
		hist_record(to, hist_fixed(unit, ns[i]));
}

TEST(interval_has_the_counts_since_then)
{
	static const uint64_t old[] = { 5000, 5000, 5000, 900000 }, new[] = { 5000, 7000, 20000 };

	record_each(before, &hist_usecs, old, ARRAY_SIZE(old));
	hist_merge(now, before);
	record_each(now, &hist_usecs, new, ARRAY_SIZE(new));
	hist_subtract(now, before);
	CHECK_EQ(hist_count(now), 3);
	CHECK(hist_percentile(now, &hist_usecs, 30) >= 5 * 0.97);
	CHECK(hist_percentile(now, &hist_usecs, 30) <= 5 * 1.03);
	CHECK(hist_average(now, &hist_usecs) * 3 == 32);
	/* The old maximum is in an octave of its own, and out of it. */
	CHECK(hist_max(now, &hist_usecs) == 20);
}

static const struct {
	uint64_t before, after;
	double max;
} maxima[] = {
	{ 1030, 1031, 1031 }, /* exact where it rose */
	{ 2000, 1030, 1055 }, /* else the slot's edge */
	{ 1030, 1025, 1030 }, /* capped by the whole's */
};

TEST(interval_maximum_is_exact_where_it_rose)
{
	for (size_t i = 0; i < ARRAY_SIZE(maxima); i++) {
		unit_after_each();
		unit_before_each();
		hist_record(before, maxima[i].before);
		hist_merge(now, before);
		hist_record(now, maxima[i].after);
		hist_subtract(now, before);
		CHECK(hist_max(now, &hist_nsecs) == maxima[i].max);
		CHECK(hist_percentile(now, &hist_nsecs, 50) <= maxima[i].max);
	}
}

TEST(interval_without_values_is_empty)
{
	hist_record(before, 1030);
	hist_record(before, 1);
	hist_merge(now, before);
	hist_subtract(now, before);
	CHECK(hists_are_equal(now, h));
}

/* The maximum is written after the count: a reader can come between. */
TEST(maximum_not_yet_written_is_not_zero)
{
	const struct hist_octave counted = { .slots = { 1 } };

	hist_merge_octave(h, 6, &counted);
	CHECK(hist_max(h, &hist_nsecs) == 1024);
	CHECK(hist_percentile(h, &hist_nsecs, 50) == 1024);
}

/* The table is that of libbpf-tools' runqlat, also for values at the edges of its rows. */
TEST(table_is_bcc_s)
{
	static const int counts[] = { 1, 9, 4, 10, 24, 11, 0, 0, 0, 1 };
	static const char expected[] =
		"     usecs               : count    distribution\n"
		"         0 -> 1          : 1        |*                                       |\n"
		"         2 -> 3          : 9        |***************                         |\n"
		"         4 -> 7          : 4        |******                                  |\n"
		"         8 -> 15         : 10       |****************                        |\n"
		"        16 -> 31         : 24       |****************************************|\n"
		"        32 -> 63         : 11       |******************                      |\n"
		"        64 -> 127        : 0        |                                        |\n"
		"       128 -> 255        : 0        |                                        |\n"
		"       256 -> 511        : 0        |                                        |\n"
		"       512 -> 1023       : 1        |*                                       |\n";
	char *text;

	record_ns(&hist_usecs, 1999, counts[0]);
	for (size_t i = 1; i < ARRAY_SIZE(counts); i++)
		record_ns(&hist_usecs, i % 2 ? 1000ULL << i : (2000ULL << i) - 1, counts[i]);
	text = printed(&hist_usecs);
	CHECK_HAS(text, "|\ncount 60  avg ");
	text[strlen(expected)] = '\0';
	CHECK_STR(text, expected);
}

TEST(table_of_one_row)
{
	record_ns(&hist_msecs, 0, 40);
	record_ns(&hist_msecs, 1999999, 6);
	CHECK_STR(printed(&hist_msecs),
		  "     msecs               : count    distribution\n"
		  "         0 -> 1          : 46       |****************************************|\n"
		  "count 46  avg 0.261  p50 0.000  p90 1.98  p99 2.00  p99.9 2.00  max 2.00\n");
}

TEST(nanoseconds_are_printed_whole)
{
	hist_record(h, 0);
	hist_record(h, 1);
	hist_record(h, 2);
	hist_record(h, 7);
	CHECK_STR(printed(&hist_nsecs),
		  "     nsecs               : count    distribution\n"
		  "         0 -> 1          : 2        |****************************************|\n"
		  "         2 -> 3          : 1        |********************                    |\n"
		  "         4 -> 7          : 1        |********************                    |\n"
		  "count 4  avg 2  p50 1  p90 7  p99 7  p99.9 7  max 7\n");
}

TEST(numbers_have_three_digits)
{
	record_ns(&hist_usecs, 500, 50);
	record_ns(&hist_usecs, 2500, 40);
	record_ns(&hist_usecs, 12500, 9);
	record_ns(&hist_usecs, 250700, 1);
	CHECK_STR(strstr(printed(&hist_usecs), "count 100"),
		  "count 100  avg 4.88  p50 0.500  p90 2.52  p99 12.6  p99.9 251  max 251\n");
}

/* BCC's layout changes when the last row ends above 2^33. */
TEST(table_widens_for_large_values)
{
	char *text;

	hist_record(h, (1ULL << 33) - 1);
	text = printed(&hist_nsecs);
	CHECK_HAS(text, "\n4294967296 -> 8589934591 : 1        |"
			"****************************************|\n");
	hist_record(h, 1ULL << 33);
	text = printed(&hist_nsecs);
	CHECK(!strncmp(text,
		       "               nsecs                         : count    distribution\n",
		       69));
	CHECK_HAS(text,
		  "\n          8589934592 -> 17179869183          : 1        |"
		  "********************|\n",
		  "\n                   0 -> 1                    : 0        |"
		  "                    |\n");
}

TEST(largest_values_are_printed)
{
	for (size_t u = 0; u < ARRAY_SIZE(units); u++) {
		hist_free(h);
		h = hist_new();
		record_ns(units[u], UINT64_MAX, 1);
		hist_record(h, UINT64_MAX);
		CHECK_HAS(printed(units[u]), "count 2  ");
	}
}
