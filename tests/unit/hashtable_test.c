// SPDX-License-Identifier: GPL-2.0-only
/* The chained table: found again after growing, equal hashes beside each other, removal. */
#include "base/hash.h"
#include "base/hashtable.h"
#include "base/search.h"
#include "unit.h"

#define MANY 10000

struct cell {
	uint64_t key;
	struct hashlink link;
};

static struct cell cells[MANY];

static struct cell *find(const struct hashtable *table, uint64_t key, uint64_t hash)
{
	for_each_linked(struct cell, cell, link, table, hash)
		if (cell->key == key)
			return cell;
	return NULL;
}

/* Every cell, with as many different hashes. */
static struct hashtable fill(uint64_t n_hashes)
{
	struct hashtable table = {};

	for (uint64_t i = 0; i < MANY; i++) {
		cells[i].key = i;
		hashtable_add(&table, &cells[i].link, hash_add(0, i % n_hashes));
	}
	return table;
}

static size_t count_found(const struct hashtable *table, uint64_t n_hashes)
{
	size_t found = 0;

	for (uint64_t i = 0; i < MANY; i++)
		found += find(table, i, hash_add(0, i % n_hashes)) == &cells[i];
	return found;
}

static size_t n_freed;

static void count_freed(struct hashlink *link)
{
	(void)link;
	n_freed++;
}

TEST(an_empty_table_holds_nothing)
{
	struct hashtable table = {};

	CHECK(!hashtable_first(&table, 0));
	hashtable_free(&table, NULL);
}

TEST(finds_everything_after_growing)
{
	struct hashtable table = fill(MANY);
	size_t visited = 0;

	CHECK_EQ(count_found(&table, MANY), MANY);
	CHECK(!find(&table, MANY, hash_add(0, MANY)));
	for_each_element(struct cell, cell, next, link, &table)
		visited += cell->key < MANY;
	CHECK_EQ(visited, MANY);
	hashtable_free(&table, NULL);
	CHECK_EQ(table.count, 0);
}

TEST(tells_elements_with_equal_hashes_apart)
{
	struct hashtable table = fill(100);

	CHECK_EQ(count_found(&table, 100), MANY);
	hashtable_free(&table, NULL);
}

TEST(removes_one_and_leaves_the_others)
{
	struct hashtable table = fill(100);

	n_freed = 0;
	for_each_element(struct cell, cell, next, link, &table)
		if (cell->key % 2 == 0)
			hashtable_remove(&table, &cell->link);
	CHECK_EQ(table.count, MANY / 2);
	CHECK_EQ(count_found(&table, 100), MANY / 2);
	CHECK(!find(&table, 0, hash_add(0, 0)));
	hashtable_free(&table, count_freed);
	CHECK_EQ(n_freed, MANY / 2);
}

TEST(a_rank_is_the_number_of_keys_up_to_it)
{
	const struct {
		int before;
		uint64_t key;
	} items[] = { { 0, 2 }, { 0, 2 }, { 0, 5 }, { 0, UINT64_MAX } };

	CHECK_EQ(SEARCH_RANK(items, 0, key, 5), 0);
	CHECK_EQ(SEARCH_RANK(items, 4, key, 1), 0);
	CHECK_EQ(SEARCH_RANK(items, 4, key, 2), 2);
	CHECK_EQ(SEARCH_RANK(items, 4, key, 4), 2);
	CHECK_EQ(SEARCH_RANK(items, 4, key, 5), 3);
	CHECK_EQ(SEARCH_RANK(items, 4, key, UINT64_MAX), 4);
}
