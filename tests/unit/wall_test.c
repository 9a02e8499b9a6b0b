// SPDX-License-Identifier: GPL-2.0-only
/* Samples scaled to the time that their threads had a CPU: exact sums, and nothing left out. */
#include "abi/waits.h"
#include "output/writer.h"
#include "profile/wall.h"
#include "stacks/stack_counts.h"
#include "unit.h"

static const struct tool tool = { .name = "profile", .modules = { { &wall_module } } };

static struct stack_key key_of(const char *comm, uint32_t tgid, uint64_t user_id)
{
	struct stack_key key = { .user_id = user_id, .tgid = tgid };

	memcpy(key.comm, comm, strlen(comm));
	return key;
}

static struct stack_sums counted, sums;

AFTER_EACH()
{
	stack_sums_clear(&sums);
	stack_sums_clear(&counted);
}

static void add(struct stack_key key, unsigned int remark, uint64_t value, uint64_t part)
{
	struct stack_sum sum = { value, part };

	key.remark = (uint8_t)remark;
	stack_sums_add(&counted, &key, &sum);
}

/* Returns the reported value of a stack in a state; 0 if there is none. */
static uint64_t reported(struct stack_key key, enum wall_kind kind)
{
	const struct stack_sum *sum;

	key.remark = (uint8_t)kind;
	key.state = kind == WALL_RUNNABLE || kind == WALL_THROTTLED ? 'R' : key.state;
	sum = stack_sums_find(&sums, &key);
	return sum ? sum->value : 0;
}

static void prepare_for(const struct writer *writer, bool by_process)
{
	struct run run;

	stack_sums_clear(&sums);
	run_init(&run, &tool);
	run.writer = writer;
	wall_prepare(&run, &counted, by_process, &sums);
	run_free(&run);
}

static void prepare(bool by_process)
{
	prepare_for(&text_writer, by_process);
}

TEST(samples_are_shares_of_the_time_on_cpu)
{
	add(key_of("a", 1, 10), RUN_SAMPLED, 30, 3);
	add(key_of("a", 1, 20), RUN_SAMPLED, 10, 1);
	add(key_of("a", 1, 0), RUN_TIME, 1000, 0);
	prepare(true);
	CHECK_EQ(sums.n, 2);
	CHECK_EQ(reported(key_of("a", 1, 10), WALL_ON_CPU), 750);
	CHECK_EQ(reported(key_of("a", 1, 20), WALL_ON_CPU), 250);
}

TEST(waits_are_blocked_runnable_or_throttled)
{
	struct stack_key key = key_of("a", 1, 10);

	add(key, 0, 100, 30);
	add(key, WAIT_AT_END, 7, 2);
	add(key, WAIT_THROTTLED, 90, 90);
	prepare(true);
	CHECK_EQ(sums.n, 3);
	CHECK_EQ(reported(key, WALL_BLOCKED), 75);
	CHECK_EQ(reported(key, WALL_RUNNABLE), 32);
	CHECK_EQ(reported(key, WALL_THROTTLED), 90);
}

/* A page has no space for the stacks of all threads that have no work. */
TEST(pages_separate_waits_that_last_throughout)
{
	struct stack_key key = key_of("a", 1, 10);

	add(key, WAIT_AT_END, 7, 2);
	add(key, WAIT_AT_START | WAIT_AT_END, 100, 0);
	prepare(true);
	CHECK_EQ(reported(key, WALL_BLOCKED), 105);
	prepare_for(&md_writer, true);
	CHECK_EQ(reported(key, WALL_BLOCKED), 5);
	CHECK_EQ(reported(key, WALL_THROUGHOUT), 100);
}

/* By process, by name and by thread; without processes, their threads are one. */
TEST(each_owner_has_its_own_scale)
{
	struct stack_key thread = key_of("a", 1, 10);

	thread.tid = 5;
	add(thread, RUN_SAMPLED, 10, 1);
	thread.user_id = 0;
	add(thread, RUN_TIME, 7, 0);
	add(key_of("a", 1, 10), RUN_SAMPLED, 10, 1);
	add(key_of("a", 1, 0), RUN_TIME, 1000, 0);
	add(key_of("a", 2, 10), RUN_SAMPLED, 30, 3);
	add(key_of("a", 2, 0), RUN_TIME, 2000, 0);
	add(key_of("b", 2, 10), RUN_SAMPLED, 10, 1);
	add(key_of("b", 2, 0), RUN_TIME, 5, 0);
	prepare(true);
	thread.user_id = 10;
	CHECK_EQ(reported(thread, WALL_ON_CPU), 7);
	CHECK_EQ(reported(key_of("a", 1, 10), WALL_ON_CPU), 1000);
	CHECK_EQ(reported(key_of("a", 2, 10), WALL_ON_CPU), 2000);
	CHECK_EQ(reported(key_of("b", 2, 10), WALL_ON_CPU), 5);
	prepare(false);
	CHECK_EQ(reported(key_of("a", 1, 10), WALL_ON_CPU), 750);
	CHECK_EQ(reported(key_of("a", 2, 10), WALL_ON_CPU), 2250);
}

TEST(time_without_samples_is_there_without_a_stack)
{
	add(key_of("a", 1, 0), RUN_TIME, 1000, 0);
	prepare(true);
	CHECK_EQ(sums.n, 1);
	CHECK_EQ(reported(key_of("a", 1, 0), WALL_ON_CPU), 1000);
}

/* As where there was no memory for a thread's state. */
TEST(samples_of_unknown_time_are_scaled_as_the_others)
{
	add(key_of("a", 1, 10), RUN_SAMPLED, 20, 2);
	add(key_of("a", 1, 0), RUN_TIME, 100, 0);
	add(key_of("b", 2, 10), RUN_SAMPLED, 20, 2);
	prepare(true);
	CHECK_EQ(reported(key_of("a", 1, 10), WALL_ON_CPU), 100);
	CHECK_EQ(reported(key_of("b", 2, 10), WALL_ON_CPU), 50);
}

TEST(waits_are_parted_at_the_wake_up)
{
	struct stack_key wait = key_of("a", 1, 10);

	wait.state = 'S';
	add(wait, 0, 1000, 10);
	add(wait, WAIT_AT_START, 500, 0);
	add(wait, WAIT_AT_END, 200, 200);
	prepare(true);
	CHECK_EQ(sums.n, 2);
	CHECK_EQ(reported(wait, WALL_BLOCKED), 1490);
	CHECK_EQ(reported(wait, WALL_RUNNABLE), 210);
}
