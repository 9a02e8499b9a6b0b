// SPDX-License-Identifier: GPL-2.0-only
/* The poll loop: when it calls those who wait. */
#include <sys/eventfd.h>
#include <sys/timerfd.h>

#include "base/loop.h"
#include "unit.h"

#define TURN_NS	  (20 * NS_PER_MS) /* between turns where much happens */
#define N_TURNS	  1000		   /* none of them waits */
#define N_WAITS	  10
#define FOREVER	  UINT64_MAX
#define MINUTE_NS (60 * NS_PER_S)

/* Ends after so many turns. */
struct turns {
	unsigned int n_most, n;
};

static enum loop_verdict count_turn(int fd, void *arg)
{
	struct turns *turns = arg;

	(void)fd;
	turns->n++;
	return turns->n != turns->n_most ? LOOP_GO : LOOP_STOP;
}

/* The descriptor can be read all the time. Returns how long so many turns took. */
static uint64_t run_turns(unsigned int n)
{
	struct turns turns = { .n_most = n };
	struct loop *loop = loop_new();
	int fd = eventfd(1, EFD_CLOEXEC);
	uint64_t begin_ns = clock_now_ns();

	CHECK_EQ(loop_watch(loop, fd, count_turn, &turns), 0);
	CHECK_EQ(loop_run(loop), 0);
	CHECK_EQ(turns.n, n);
	loop_free(loop);
	close(fd);
	return clock_now_ns() - begin_ns;
}

/* They are 20 ms apart, by a timer: one that is late leaves less to the next. */
TEST(where_much_happens_turns_are_few)
{
	CHECK(run_turns(N_WAITS) + TURN_NS >= (N_WAITS - 1) * TURN_NS);
}

/* Waiting for each turn would take N_TURNS - 1 times as long as one waits. */
static void check_no_waiting(uint64_t begin_ns, const struct turns *turns)
{
	CHECK_EQ(turns->n, N_TURNS);
	CHECK(clock_now_ns() - begin_ns < N_TURNS / 2 * TURN_NS);
}

TEST(what_is_urgent_does_not_wait)
{
	struct turns turns = { .n_most = N_TURNS };
	struct loop *loop = loop_new();
	int fd = eventfd(1, EFD_CLOEXEC);
	uint64_t begin_ns = clock_now_ns();

	CHECK_EQ(loop_watch(loop, fd, count_turn, &turns), 0);
	CHECK_EQ(loop_make_urgent(loop, fd), 0);
	CHECK_EQ(loop_run(loop), 0);
	check_no_waiting(begin_ns, &turns);
	loop_free(loop);
	close(fd);
}

static enum loop_verdict hurry_once(int fd, void *arg)
{
	uint64_t value;

	CHECK_EQ(read(fd, &value, sizeof(value)), (ssize_t)sizeof(value));
	loop_hurry(arg, N_TURNS * TURN_NS);
	return LOOP_GO;
}

TEST(what_comes_in_a_hurry_does_not_wait)
{
	struct turns turns = { .n_most = N_TURNS };
	int fd = eventfd(1, EFD_CLOEXEC), hurry_fd = eventfd(1, EFD_CLOEXEC);
	struct loop *loop = loop_new();
	uint64_t begin_ns = clock_now_ns();

	CHECK_EQ(loop_watch(loop, fd, count_turn, &turns), 0);
	CHECK_EQ(loop_watch(loop, hurry_fd, hurry_once, loop), 0);
	CHECK_EQ(loop_run(loop), 0);
	check_no_waiting(begin_ns, &turns);
	loop_free(loop);
	close(fd);
	close(hurry_fd);
}

/* Each time, the first turn would come too late: one in time shows that none waits. */
TEST(what_comes_first_is_handled_at_once)
{
	uint64_t shortest_ns = FOREVER;

	for (int i = 0; i < N_TURNS && shortest_ns >= TURN_NS; i++) {
		uint64_t ns = run_turns(1);

		shortest_ns = ns < shortest_ns ? ns : shortest_ns;
	}
	CHECK(shortest_ns < TURN_NS);
}

#define MANY 300

struct countdown {
	int n_left, n_calls;
};

static enum loop_verdict count_down(int fd, void *arg)
{
	struct countdown *countdown = arg;

	close(fd);
	countdown->n_calls++;
	return --countdown->n_left ? LOOP_GO : LOOP_STOP;
}

/* Also of those that get the number of one that was closed. */
TEST(each_of_many_is_called)
{
	struct countdown countdown = { .n_left = MANY };
	struct loop *loop = loop_new();

	for (int round = 1; round <= 2; round++) {
		for (int i = 0; i < MANY; i++)
			CHECK_EQ(loop_watch(loop, eventfd(1, EFD_CLOEXEC), count_down, &countdown),
				 0);
		CHECK_EQ(loop_run(loop), 0);
		CHECK_EQ(countdown.n_calls, round * MANY);
		countdown.n_left = MANY;
	}
	loop_free(loop);
}

struct ticks {
	uint64_t begin_ns;
	unsigned int n;
};

static enum loop_verdict count_tick(int fd, void *arg)
{
	struct ticks *ticks = arg;
	uint64_t expirations;

	CHECK_EQ(read(fd, &expirations, sizeof(expirations)), (ssize_t)sizeof(expirations));
	ticks->n += (unsigned int)expirations;
	return ticks->n < 3 ? LOOP_GO : LOOP_STOP;
}

TEST(a_timer_ticks_until_it_is_closed)
{
	struct ticks ticks = { .begin_ns = clock_now_ns() };
	struct loop *loop = loop_new();
	int fd = loop_every(loop, 5 * NS_PER_MS, count_tick, &ticks);

	CHECK(fd >= 0);
	CHECK_EQ(loop_run(loop), 0);
	CHECK(clock_now_ns() - ticks.begin_ns >= ticks.n * 5 * NS_PER_MS);
	loop_free(loop);
	close(fd);
}

/* The period is a minute, so that it doesn't expire during the test. */
TEST(a_timer_at_random_is_out_of_step)
{
	struct ticks ticks = {};
	struct loop *loop = loop_new();
	int fd = loop_every(loop, MINUTE_NS, count_tick, &ticks);
	uint64_t random = 0, min_ns = UINT64_MAX, max_ns = 0;
	struct itimerspec left;

	for (int i = 0; i < 100; i++) {
		uint64_t ns;

		loop_arm_at_random(fd, MINUTE_NS, &random);
		timerfd_gettime(fd, &left);
		ns = (uint64_t)left.it_value.tv_sec * NS_PER_S + (uint64_t)left.it_value.tv_nsec;
		min_ns = ns < min_ns ? ns : min_ns;
		max_ns = ns > max_ns ? ns : max_ns;
		CHECK(!left.it_interval.tv_sec && !left.it_interval.tv_nsec);
	}
	CHECK(max_ns <= 3 * MINUTE_NS / 2);
	CHECK(min_ns > MINUTE_NS / 4); /* 0.5, less what a busy machine takes in between */
	CHECK(max_ns - min_ns > MINUTE_NS / 2);
	loop_arm_at_random(fd, 0, &random);
	timerfd_gettime(fd, &left);
	CHECK(!left.it_value.tv_sec && !left.it_value.tv_nsec);
	loop_free(loop);
	close(fd);
}
