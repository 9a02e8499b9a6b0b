// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sums by comm: the largest come first, and stay where there are more names than room. How stacks
 * end: also a waker's.
 */
#include "abi/unwind_layout.h"
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

/* ---- how stacks end ---- */

static void define(struct resolver *resolver, uint64_t id, uint16_t reason)
{
	struct stack_def def = { .id = id,
				 .kind = STACK_USER,
				 .tgid = 1,
				 .n_words = 1,
				 .reason = reason,
				 .words = { id } };

	resolver_add(resolver, &def, sizeof(def));
}

static void read_no_more(void *arg)
{
	(void)arg;
}

/* A value of stack 3 whose waker has stack 5. */
static void count_waker(struct processes *processes, struct stack_reasons *reasons)
{
	struct resolver *r = resolver_new(processes, NULL);
	struct stack_def waker = { .id = 11, .kind = STACK_WAKER, .n_words = 4, .words = { 5 } };
	struct profile *profile = profile_new("us", NULL, resolver_frame_table(r));
	struct name_filter all = {};
	struct stack_profile p = { .spec = &(struct stacks_spec){},
				   .resolver = r,
				   .profile = profile,
				   .names = &all,
				   .read_definitions = read_no_more };

	memcpy(&waker.words[2], "poker", sizeof("poker"));
	define(r, 3, UNWIND_COMPLETE);
	define(r, 5, UNWIND_NO_PROCESS);
	resolver_add(r, &waker, sizeof(waker));
	stack_profile_add(&p, &(struct stack_key){ .user_id = 3, .waker_id = 11, .comm = "waiter" },
			  &(struct stacks_value){ .value = 7 });
	*reasons = p.reasons;
	profile_free(profile);
	resolver_free(r);
}

TEST(a_wakers_stack_counts_as_one_more)
{
	struct processes *processes =
		processes_new(&(struct processes_options){ .max_mappings = 1 });
	struct stack_reasons reasons;

	count_waker(processes, &reasons);
	processes_free(processes);
	CHECK_EQ(reasons.values[UNWIND_COMPLETE], 7);
	CHECK_EQ(reasons.values[UNWIND_NO_PROCESS], 7);
	CHECK_EQ(reasons.incomplete.n, 1);
	CHECK_STR(reasons.incomplete.items[0].comm, "poker");
}
