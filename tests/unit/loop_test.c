// SPDX-License-Identifier: GPL-2.0-only
/* The poll loop: when it calls those who wait. */
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/loop.h"
#include "unit.h"

#define LONG_NS (200 * NS_PER_MS)

struct turns {
	uint64_t end_ns;
	unsigned int n;
};

static enum loop_verdict count_turn(int fd, void *arg)
{
	struct turns *turns = arg;

	(void)fd;
	turns->n++;
	return clock_now_ns() < turns->end_ns ? LOOP_GO : LOOP_STOP;
}

/* The descriptor can be read all the time. Returns how long it took. */
static uint64_t run_for(struct turns *turns, uint64_t ns)
{
	struct loop *loop = loop_new();
	int fd = eventfd(1, EFD_CLOEXEC);
	uint64_t begin_ns = clock_now_ns();

	*turns = (struct turns){ .end_ns = begin_ns + ns };
	CHECK_EQ(loop_watch(loop, fd, count_turn, turns), 0);
	CHECK_EQ(loop_run(loop), 0);
	loop_free(loop);
	close(fd);
	return clock_now_ns() - begin_ns;
}

/* Two turns in each 20 ms are eager, the others are 5 ms apart. */
TEST(where_much_happens_turns_are_few)
{
	struct turns turns;
	uint64_t ms = run_for(&turns, LONG_NS) / NS_PER_MS + 1;

	CHECK(turns.n > 1);
	if (turns.n > 2 * (ms / 20 + 1) + ms / 5 + 1)
		UNIT_FAIL("%u turns in %u ms", turns.n, (unsigned int)ms);
}

/* Beside one that doesn't rest. */
TEST(a_watch_rests_after_each_call)
{
	struct turns turns = { .end_ns = UINT64_MAX }, others;
	uint64_t begin_ns = clock_now_ns(), ms;
	struct loop *loop = loop_new();
	int fd = eventfd(1, EFD_CLOEXEC), other_fd = eventfd(1, EFD_CLOEXEC);

	others = (struct turns){ .end_ns = begin_ns + LONG_NS };
	CHECK_EQ(loop_watch_at_rest(loop, fd, 20 * NS_PER_MS, count_turn, &turns), 0);
	CHECK_EQ(loop_watch(loop, other_fd, count_turn, &others), 0);
	CHECK_EQ(loop_run(loop), 0);
	ms = (clock_now_ns() - begin_ns) / NS_PER_MS;
	CHECK(turns.n > 1);
	CHECK(turns.n <= ms / 20 + 1);
	CHECK(others.n > turns.n);
	loop_free(loop);
	close(fd);
	close(other_fd);
}

/* And alone, where nothing else wakes the loop up. */
TEST(a_rest_ends_by_itself)
{
	struct turns turns = { .end_ns = clock_now_ns() + LONG_NS };
	struct loop *loop = loop_new();
	int fd = eventfd(1, EFD_CLOEXEC);

	CHECK_EQ(loop_watch_at_rest(loop, fd, 20 * NS_PER_MS, count_turn, &turns), 0);
	CHECK_EQ(loop_run(loop), 0);
	CHECK(turns.n > 1);
	loop_free(loop);
	close(fd);
}

TIMED_TEST(what_comes_first_is_handled_at_once)
{
	struct turns turns;

	CHECK(run_for(&turns, 0) < 2 * NS_PER_MS);
	CHECK_EQ(turns.n, 1);
}
