// SPDX-License-Identifier: GPL-2.0-only
/* Sums by stack: what comes again is added, and nothing gets lost where there are many. */
#include "process/processes.h"
#include "stacks/stack_counts.h"
#include "unit.h"

#define MANY 20011

static struct stack_sums sums;

AFTER_EACH()
{
	stack_sums_clear(&sums);
}

static void add(struct stack_key key, uint64_t value)
{
	stack_sums_add(&sums, &key, &(struct stack_sum){ .value = value, .part = 1 });
}

static struct stack_key key_of(uint64_t n)
{
	/* Alike but for one field, which is another one for each remainder. */
	struct stack_key key = { .user_id = 7, .comm = "a" };

	switch (n % 4) {
	case 0:
		key.user_id += n;
		break;
	case 1:
		key.tgid = (uint32_t)n;
		break;
	case 2:
		key.waker_id = n;
		break;
	default:
		memcpy(key.comm + 1, &n, sizeof(n));
	}
	return key;
}

struct seen {
	uint64_t n, value, part;
	int is_out_of_order;
};

static void visit(const void *key, const void *sum_data, void *arg)
{
	const struct stack_sum *sum = sum_data;
	struct stack_key expected;
	struct seen *seen = arg;

	expected = key_of(seen->n);
	seen->is_out_of_order |= memcmp(key, &expected, sizeof(expected));
	seen->n++;
	seen->value += sum->value;
	seen->part += sum->part;
}

static void add_value(const void *key, const void *sum, void *value)
{
	(void)key;
	*(uint64_t *)value += ((const struct stack_sum *)sum)->value;
}

TEST(sums_of_many_stacks_are_kept_apart)
{
	struct seen seen = {};

	for (uint64_t round = 1; round <= 3; round++)
		for (uint64_t n = 0; n < MANY; n++)
			add(key_of(n), n * round);
	stack_sums_visit(&sums, visit, &seen);
	CHECK_EQ(seen.n, MANY);
	CHECK(!seen.is_out_of_order);
	CHECK_EQ(seen.value, 6ULL * MANY * (MANY - 1) / 2);
	CHECK_EQ(seen.part, 3 * MANY);
}

static bool is_odd(uint32_t tgid)
{
	return tgid % 2;
}

TEST(what_gone_processes_have_in_common_is_one_sum)
{
	uint64_t value = 0;

	for (uint32_t tgid = 1; tgid <= 10; tgid++)
		add((struct stack_key){ .user_id = 7, .tgid = tgid }, tgid);
	stack_sums_fold(&sums, is_odd);
	CHECK_EQ(sums.n, 6);
	stack_sums_visit(&sums, add_value, &value);
	CHECK_EQ(value, 55);
}

TEST(gone_threads_lose_their_numbers_too)
{
	struct stack_key left = { .user_id = 7, .tgid = 2, .tid = 4 };

	for (uint32_t tid = 2; tid <= 5; tid++)
		add((struct stack_key){ .user_id = 7, .tgid = 2, .tid = tid }, tid);
	stack_sums_fold(&sums, is_odd);
	CHECK_EQ(sums.n, 3);
	CHECK(stack_sums_find(&sums, &left));
	CHECK_EQ(stack_sums_find(&sums, &left)->value, 4);
	left.tid = 0;
	CHECK_EQ(stack_sums_find(&sums, &left)->value, 3 + 5);
	left.tid = 3;
	CHECK(!stack_sums_find(&sums, &left));
	stack_sums_clear(&sums);
	CHECK(!stack_sums_find(&sums, &left));
}

TEST(cleared_sums_begin_anew)
{
	struct seen seen = {};

	stack_sums_clear(&sums);
	add(key_of(0), 13);
	stack_sums_clear(&sums);
	stack_sums_visit(&sums, visit, &seen);
	CHECK_EQ(seen.n, 0);
	add(key_of(0), 13);
	stack_sums_visit(&sums, visit, &seen);
	CHECK_EQ(seen.n, 1);
	CHECK_EQ(seen.value, 13);
}

/* ---- events ---- */

#define MORE_EVENTS ((1 << 19) + 1)

static void add_events(struct stack_counts *counts, uint64_t n)
{
	for (uint64_t i = 1; i <= n; i++)
		stack_counts_add_event(
			counts, &(struct stack_event){ .time_ns = i,
						       .sum = { 2, 1 },
						       .key = { .tgid = 1, .tid = i > n / 2 } });
}

static struct processes *processes;

static struct stack_counts counts_in_time(bool by_thread)
{
	processes = processes_new(&(struct processes_options){ .max_mappings = 1 });
	return (struct stack_counts){ .in_time = true,
				      .by_process = true,
				      .by_thread = by_thread,
				      .resolver = resolver_new(processes, NULL) };
}

static void free_counts(struct stack_counts *counts)
{
	stack_counts_free(counts);
	resolver_free(counts->resolver);
	processes_free(processes);
}

/* Too many drop the older half, whose keys go with it; the totals are those of the rest. */
TEST(the_latest_events_stay)
{
	struct stack_counts counts = counts_in_time(true);
	struct stack_events *events = &counts.events;
	struct stack_key late = { .tgid = 1, .tid = 1 }, early = { .tgid = 1 };

	add_events(&counts, MORE_EVENTS);
	CHECK_EQ(events->n, MORE_EVENTS / 2 + 1);
	CHECK_EQ(events->cut_ns, MORE_EVENTS / 2);
	CHECK_EQ(events->cut_value, MORE_EVENTS / 2 * 2);
	CHECK_EQ(events->list[0].end_ns, MORE_EVENTS / 2 + 1);
	CHECK_EQ(events->list[0].key, 0);
	CHECK_EQ(stack_sums_find(&counts.gathered, &late)->value, events->n * 2);
	CHECK_EQ(stack_sums_find(&counts.gathered, &late)->part, events->n);
	CHECK(!stack_sums_find(&counts.gathered, &early));
	free_counts(&counts);
}

/* So do too many keys: each has a stack in the report. */
TEST(keys_of_events_are_bounded)
{
	struct stack_counts counts = counts_in_time(false);

	for (uint32_t i = 1; i <= 100000; i++)
		stack_counts_add_event(&counts, &(struct stack_event){ .time_ns = i,
								       .sum = { 1, 0 },
								       .key = { .tgid = i } });
	CHECK(counts.gathered.n <= 32768);
	CHECK_EQ(counts.gathered.n, counts.events.n);
	CHECK_EQ(counts.events.n + counts.events.cut_value, 100000);
	free_counts(&counts);
}

/* A report reads more while it is made: later events neither change its own nor get lost. */
TEST(events_during_a_report_are_the_next_ones)
{
	struct stack_counts counts = counts_in_time(true);
	struct stack_events events;
	struct run run = {};

	add_events(&counts, 2); /* keys 0 and 1 */
	CHECK_EQ(stack_counts_read(&run, &counts, &sums, &events), 0);
	add_events(&counts, 1); /* key 0 */
	stack_counts_end(&run, &counts);
	add_events(&counts, 1);
	CHECK_EQ(events.n, 2);
	CHECK_EQ(events.list[1].end_ns, 2);
	CHECK_EQ(events.list[1].key, 1);
	CHECK_EQ(sums.n, 2);
	CHECK_EQ(counts.events.n, 2);
	CHECK_EQ(counts.events.list[0].key, 0);
	CHECK_EQ(counts.gathered.n, 1);
	CHECK_EQ(counts.events.n_keys, 3);
	free(events.list);
	free_counts(&counts);
}
