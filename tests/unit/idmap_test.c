// SPDX-License-Identifier: GPL-2.0-only
/* The table by id: found again after growing, also where many ids want the same slot. */
#include "base/idmap.h"
#include "unit.h"

#define MANY 100000

static uint64_t cells[MANY];

/* Scattered like hashes, and never 0. */
static uint64_t scatter(uint64_t i)
{
	return (i + 1) * 0xbf58476d1ce4e5b9ULL;
}

static struct idmap map;

AFTER_EACH()
{
	idmap_free(&map, NULL);
}

static size_t count_found(const struct idmap *in, uint64_t (*id_of)(uint64_t i))
{
	size_t found = 0;

	for (uint64_t i = 0; i < MANY; i++)
		found += idmap_find(in, id_of(i)) == &cells[i];
	return found;
}

TEST(finds_what_was_added)
{
	CHECK(!idmap_find(&map, 1));
	CHECK(!idmap_find(&map, UINT64_MAX));
	idmap_add(&map, 1, &cells[1]);
	idmap_add(&map, UINT64_MAX, &cells[2]);
	CHECK(idmap_find(&map, 1) == &cells[1]);
	CHECK(idmap_find(&map, UINT64_MAX) == &cells[2]);
	CHECK(!idmap_find(&map, 2));
	CHECK_EQ(map.count, 2);
	/* is empty and usable after being freed */
	idmap_free(&map, NULL);
	CHECK_EQ(map.count, 0);
	CHECK(!idmap_find(&map, 7));
	idmap_add(&map, 7, &cells[8]);
	CHECK(idmap_find(&map, 7) == &cells[8]);
}

TEST(finds_everything_after_growing)
{
	for (uint64_t i = 0; i < MANY; i++)
		idmap_add(&map, scatter(i), &cells[i]);
	CHECK_EQ(map.count, MANY);
	CHECK_EQ(count_found(&map, scatter), MANY);
	CHECK(!idmap_find(&map, scatter(MANY)));
	CHECK(map.size >= 2 * map.count);
}

static bool is_even(void *value, void *arg)
{
	size_t *n_asked = arg;

	++*n_asked;
	return ((uint64_t *)value - cells) % 2 == 0;
}

TEST(keeps_what_is_to_be_kept)
{
	size_t n_asked = 0, wrong = 0, size;

	idmap_keep(&map, is_even, &n_asked);
	for (uint64_t i = 0; i < MANY; i++)
		idmap_add(&map, scatter(i), &cells[i]);
	size = map.size;
	idmap_keep(&map, is_even, &n_asked);
	CHECK_EQ(n_asked, MANY);
	CHECK_EQ(map.count, MANY / 2);
	for (uint64_t i = 0; i < MANY; i++)
		wrong += idmap_find(&map, scatter(i)) != (i % 2 ? NULL : &cells[i]);
	CHECK_EQ(wrong, 0);
	CHECK(map.size < size);
}

static uint64_t pid_like(uint64_t i)
{
	return i + 1;
}

static uint64_t address_like(uint64_t i)
{
	return 0xffffffff80000000ULL + i * 4096;
}

TEST(finds_ids_that_are_close_or_aligned)
{
	struct idmap close_by = {}, aligned = {};

	for (uint64_t i = 0; i < MANY; i++) {
		idmap_add(&close_by, pid_like(i), &cells[i]);
		idmap_add(&aligned, address_like(i), &cells[i]);
	}
	CHECK_EQ(count_found(&close_by, pid_like), MANY);
	CHECK_EQ(count_found(&aligned, address_like), MANY);
	idmap_free(&close_by, NULL);
	idmap_free(&aligned, NULL);
}

static void count_free(void *value)
{
	(*(uint64_t *)value)++;
}

TEST(frees_each_value_once)
{
	size_t wrong = 0;

	memset(cells, 0, sizeof(cells));
	for (uint64_t i = 0; i < 5000; i++)
		idmap_add(&map, scatter(i), &cells[i]);
	idmap_free(&map, count_free);
	for (uint64_t i = 0; i < MANY; i++)
		wrong += cells[i] != (i < 5000);
	CHECK_EQ(wrong, 0);
}
