// SPDX-License-Identifier: GPL-2.0-only
/* Tests of growth: blocks that are reported to keep growing, and blocks that aren't. */
#include "memleak/blocks.h"
#include "unit.h"

/*
 * The number of intervals in which it was said, of those whose values are given; UINT64_MAX:
 * absent.
 */
static int times_said(const uint64_t *values, size_t n)
{
	struct growths growths = {};
	int times = 0;

	for (size_t i = 0; i < n; i++) {
		growths_next(&growths);
		if (values[i] != UINT64_MAX)
			growths_set(&growths, 1, values[i], values[i] / 10);
		times += growths_find(&growths, 1) != NULL;
	}
	growths_clear(&growths);
	return times;
}

#define SAID(...)                                     \
	times_said((const uint64_t[]){ __VA_ARGS__ }, \
		   sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))

TEST(what_rises_in_every_interval_grows)
{
	CHECK_EQ(SAID(10, 20, 30, 40, 50, 60), 0);
	CHECK_EQ(SAID(10, 20, 30, 40, 50, 60, 70), 1);
	CHECK_EQ(SAID(10, 20, 30, 40, 50, 60, 70, 80, 90), 3);
	/* what comes later grows too */
	CHECK_EQ(SAID(UINT64_MAX, UINT64_MAX, 10, 20, 30, 40, 50, 60), 1);
	/* a fall begins anew */
	CHECK_EQ(SAID(10, 20, 30, 40, 39, 50, 60, 70, 80, 90), 0);
	CHECK_EQ(SAID(10, 20, 30, 40, 39, 50, 60, 70, 80, 90, 99), 1);
	/* a level is no growth but forgiven */
	CHECK_EQ(SAID(10, 10, 10, 10, 10, 10, 10), 0);
	CHECK_EQ(SAID(10, 20, 20, 30, 40, 40, 50, 60, 70), 1);
	/* only more than ever counts */
	CHECK_EQ(SAID(100, 10, 20, 30, 40, 50, 60, 70, 80), 0);
	CHECK_EQ(SAID(100, UINT64_MAX, 10, 20, 30, 40, 50, 60, 70), 0);
}

/* Nothing for so long is another process's, mostly; and what ended ones had must not pile up. */
TEST(what_had_nothing_for_long_is_forgotten)
{
	const uint64_t none = UINT64_MAX;

	CHECK_EQ(SAID(100, none, none, none, none, none, 10, 20, 30, 40, 50, 60), 0);
	CHECK_EQ(SAID(100, none, none, none, none, none, none, 10, 20, 30, 40, 50, 60), 1);
}

TEST(differences_are_told)
{
	struct growths growths = {};
	const struct growth *growth;

	for (uint64_t i = 1; i <= 8; i++) {
		growths_next(&growths);
		growths_set(&growths, 9, i * i * 10, i * i);
		growth = growths_find(&growths, 9);
		if (i == 8)
			CHECK(growth && growth->bytes_more == 150 && growth->count_more == 15 &&
			      growth->n_rises == 7);
	}
	growths_clear(&growths);
}
