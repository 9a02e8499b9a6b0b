// SPDX-License-Identifier: GPL-2.0-only
/* Free parts of an array: which are taken, and that neighbours become one. */
#include "base/extents.h"
#include "unit.h"

/* Takes a part. Returns its first position, or -1 if there is no space. */
static int take(struct extents *extents, uint64_t count)
{
	uint64_t first;

	return extents_take(extents, count, &first) ? (int)first : -1;
}

TEST(the_first_that_fits_is_taken)
{
	struct extents extents = {};

	extents_add(&extents, 100, 50);
	extents_add(&extents, 10, 8);
	extents_add(&extents, 30, 20);
	extents_add(&extents, 70, 0);
	CHECK_EQ(take(&extents, 9), 30);
	CHECK_EQ(take(&extents, 12), 100);
	CHECK_EQ(take(&extents, 11), 39);
	CHECK_EQ(take(&extents, 39), -1);
	CHECK_EQ(take(&extents, 8), 10);
	CHECK_EQ(take(&extents, 8), 112);
	CHECK_EQ(take(&extents, 30), 120);
	CHECK_EQ(take(&extents, 1), -1);
	extents_clear(&extents);
}

static int take_spare(struct extents *extents, uint64_t count)
{
	uint64_t first;

	return extents_take_spare(extents, count, &first) ? (int)first : -1;
}

TEST(all_but_one_are_spare)
{
	struct extents extents = { .border = 10 };

	for (uint64_t at = 0; at < 50; at += 10)
		extents_add(&extents, at, at == 20 ? 9 : 10);
	CHECK_EQ(take_spare(&extents, 10), 10);
	CHECK_EQ(take_spare(&extents, 10), 30);
	CHECK_EQ(take_spare(&extents, 10), 40);
	CHECK_EQ(take_spare(&extents, 10), -1);
	CHECK_EQ(take_spare(&extents, 9), -1);
	CHECK_EQ(extents.n, 2);
	extents_clear(&extents);
}

TEST(neighbours_become_one)
{
	struct extents extents = {};

	extents_add(&extents, 0, 10);
	extents_add(&extents, 20, 10);
	CHECK_EQ(take(&extents, 11), -1);
	extents_add(&extents, 10, 10);
	CHECK_EQ(take(&extents, 30), 0);
	CHECK_EQ(extents.n, 0);
	for (int i = 99; i >= 0; i--)
		extents_add(&extents, (uint64_t)(i * 37 % 100), 1);
	CHECK_EQ(extents.n, 1);
	CHECK_EQ(take(&extents, 100), 0);
	extents_clear(&extents);
}

TEST(none_crosses_a_border)
{
	struct extents extents = { .border = 16 };

	extents_add(&extents, 8, 8);
	extents_add(&extents, 16, 8);
	CHECK_EQ(take(&extents, 9), -1);
	CHECK_EQ(take(&extents, 8), 8);
	CHECK_EQ(take(&extents, 8), 16);
	extents_clear(&extents);
}
