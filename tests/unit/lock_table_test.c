// SPDX-License-Identifier: GPL-2.0-only
/* The table of locks as it is printed. */
#include "abi/waits.h"
#include "locks/lock_table.h"
#include "unit.h"

static char db[] = "db", symbol[] = "table", path[] = "/dev/shm/x", function[] = "pipe_write",
	    hostile_path[] = "/tmp/\n\033[2J";

static const struct lock_name table_lock = { .addr = 0x1000,
					     .pid = 7,
					     .module = db,
					     .symbol = symbol },
			      shared = { .addr = 0x2000, .mapping = path, .offset = 64 },
			      kernels = { .addr = 0xffff888100000000,
					  .is_kernels = true,
					  .function = function };

static struct lock_table *table;

BEFORE_EACH()
{
	table = lock_table_new();
}

AFTER_EACH()
{
	lock_table_free(table);
}

static void add(const struct lock_name *lock, const char *kind, const char *waker, uint64_t count,
		uint64_t us)
{
	struct lock_sum sum = { count, us * 1000, 0, us * 1000 / count };
	struct lock_key key = { .stack.comm = "waiter",
				.lock.waker_tgid = 7,
				.lock.end = waker ? LOCK_END_RELEASED : LOCK_END_UNSEEN };

	if (waker)
		snprintf(key.lock.waker_comm, sizeof(key.lock.waker_comm), "%s", waker);
	lock_table_add(table, lock, kind, &key, &sum);
}

static size_t one_frame(const struct lock_name *lock, uint64_t waker_id,
			const struct frame **frames, size_t max, void *arg)
{
	static const struct frame frame = { .name = "unlock_it" };

	(void)lock;
	(void)waker_id;
	(void)arg;
	frames[0] = &frame;
	return max ? 1 : 0;
}

static const struct lock_style plain, with_stacks = { .stack = one_frame };

static char *printed(const struct lock_style *style)
{
	return PRINTED(f, lock_table_print(f, table, style));
}

#define TITLES "   WAITS   TOTAL_US LONGEST_US KIND       RELEASED_BY          LOCK\n"

TEST(no_locks_are_just_titles)
{
	CHECK_STR(printed(&plain), TITLES);
}

TEST(locks_waited_for_longest_come_first)
{
	add(&shared, "mutex", NULL, 2, 10);
	add(&table_lock, "mutex", "worker", 3, 90);
	add(&table_lock, "mutex", "other", 1, 11);
	add(&kernels, "mutex", "keeper", 1, 50);
	CHECK_STR(printed(&plain), TITLES
		  "       4        101         30 mutex      worker 75%           db:table (7)\n"
		  "       1         50         50 k:mutex    keeper 100%          "
		  "in pipe_write 0xffff888100000000\n"
		  "       2         10          5 mutex      -                    "
		  "/dev/shm/x+0x40\n");
}

TEST(a_better_kind_takes_the_place_of_a_vague_one)
{
	add(&shared, "futex", NULL, 1, 1);
	add(&shared, "semaphore", NULL, 1, 1);
	add(&shared, "futex", NULL, 1, 1);
	CHECK_HAS(printed(&plain), "       3          3          1 semaphore  ");
}

TEST(waits_that_go_on_or_were_given_up_are_told)
{
	struct lock_key key = { .stack.remark = WAIT_AT_END };
	struct lock_sum sum = { 3, 3000, 0, 1000 };

	lock_table_add(table, &shared, "mutex", &key, &sum);
	key = (struct lock_key){ .lock.end = LOCK_END_GIVEN_UP };
	sum.count = 2;
	lock_table_add(table, &shared, "mutex", &key, &sum);
	CHECK_HAS(printed(&plain), " /dev/shm/x+0x40 [3 waiting] [2 given up]\n");
}

TEST(wakers_have_stacks_if_asked_for)
{
	add(&table_lock, "mutex", "worker", 3, 90);
	CHECK_HAS(printed(&with_stacks), "        released 3 times, after 90 us, by worker (7)\n"
					 "            unlock_it\n");
}

/* A waker's share is that of all its stacks; from each of them it is told once. */
TEST(a_waker_with_several_stacks_is_one)
{
	static const uint64_t stacks[] = { 7, 9, 7 };
	struct lock_sum sum = { 1, 1000, 0, 1000 };
	char *text;

	for (size_t i = 0; i < 3; i++) {
		struct lock_key key = { .stack.waker_id = stacks[i],
					.lock.waker_comm = "often",
					.lock.end = LOCK_END_RELEASED };

		lock_table_add(table, &shared, "mutex", &key, &sum);
	}
	add(&shared, "mutex", "rarely", 2, 90);
	text = printed(&with_stacks);
	CHECK_HAS(text, " often 60% ", "        released 2 times, after 2 us, by often (0)\n",
		  "        released 1 time, after 1 us, by often (0)\n");
}

TEST(names_are_escaped)
{
	static const struct lock_name hostile = { .addr = 1, .mapping = hostile_path };
	char *text;

	add(&hostile, "mutex", "a\tb", 1, 1);
	text = printed(&plain);
	CHECK_HAS(text, "a\\x09b 100%", "/tmp/\\x0a\\x1b[2J");
}

TEST(json_has_nanoseconds_and_each_waker)
{
	add(&table_lock, "mutex", "worker", 2, 10);
	CHECK_STR(PRINTED(f, lock_table_print_json(f, table, &with_stacks)),
		  "{\"type\":\"lock\",\"space\":\"user\",\"kind\":\"mutex\","
		  "\"name\":\"db:table\",\"address\":4096,\"module\":\"db\","
		  "\"symbol\":\"table\",\"offset\":0,\"pid\":7,\"comm\":\"waiter\","
		  "\"waits\":2,\"total_ns\":10000,\"longest_ns\":5000,\"waiting\":0,"
		  "\"given_up\":0,\"wakers\":[{\"comm\":\"worker\",\"pid\":7,\"waits\":2,"
		  "\"total_ns\":10000,\"longest_ns\":5000,\"frames\":[\"unlock_it\"]}]}\n");
}
