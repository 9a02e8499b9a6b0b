// SPDX-License-Identifier: GPL-2.0-only
/* Sums by comm: the largest come first, and stay where there are more names than room. */
#include "stacks/stack_profile.h"
#include "unit.h"

static void add(struct comm_sums *sums, const char *name, uint64_t value)
{
	char comm[TASK_COMM_LEN] = "";

	memcpy(comm, name, strnlen(name, sizeof(comm)));
	comm_sums_add(sums, comm, value);
}

TEST(the_largest_sum_comes_first)
{
	struct comm_sums sums = {}, more = {};

	add(&sums, "java", 2);
	add(&sums, "node", 3);
	add(&more, "java", 2);
	comm_sums_merge(&sums, &more);
	comm_sums_sort(&sums);
	CHECK_EQ(sums.n, 2);
	CHECK_STR(sums.items[0].comm, "java");
	CHECK_EQ(sums.items[0].value, 4);
	CHECK_STR(sums.items[1].comm, "node");
}

TEST(a_comm_may_fill_its_room)
{
	struct comm_sums sums = {};

	add(&sums, "0123456789abcdefX", 1);
	add(&sums, "0123456789abcdefY", 1);
	add(&sums, "0123456789abcde", 1);
	CHECK_EQ(sums.n, 2);
	CHECK_EQ(sums.items[0].value, 2);
}

TEST(what_is_much_stays_among_many_names)
{
	struct comm_sums sums = {};
	char name[TASK_COMM_LEN];

	for (int i = 0; i < 10000; i++) {
		snprintf(name, sizeof(name), "short-%d", i);
		add(&sums, name, 1);
		add(&sums, "postgres", 2);
	}
	comm_sums_sort(&sums);
	CHECK(sums.n <= COMM_SUMS_MAX);
	CHECK_STR(sums.items[0].comm, "postgres");
	CHECK_EQ(sums.items[0].value, 20000);
}
