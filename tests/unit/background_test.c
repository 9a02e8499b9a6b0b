// SPDX-License-Identifier: GPL-2.0-only
/* Chores: each is done once, in order, by the thread or by who needs it first. */
#include <pthread.h>

#include "base/background.h"
#include "unit.h"

#define CHORES 200

struct work {
	struct chore chore; /* first: a chore is its work */
	int times;
	int turn; /* when it was done */
};

static struct work works[CHORES];
static int turns, waiting;
static int gate[2]; /* a byte lets a chore end */

static void do_work(struct chore *chore)
{
	struct work *work = (struct work *)chore;

	work->times++;
	work->turn = __atomic_fetch_add(&turns, 1, __ATOMIC_RELAXED);
}

static void wait_at_gate(struct chore *chore)
{
	char byte;

	__atomic_fetch_add(&waiting, 1, __ATOMIC_RELAXED);
	while (read(gate[0], &byte, 1) != 1)
		continue;
	do_work(chore);
}

static struct background *bg;

BEFORE_EACH()
{
	bg = background_new();
	turns = waiting = 0;
	for (int i = 0; i < CHORES; i++)
		works[i] = (struct work){ .turn = -1 };
	CHECK_EQ(pipe(gate), 0);
}

AFTER_EACH()
{
	background_free(bg);
	close(gate[0]);
	close(gate[1]);
}

TEST(what_is_asked_for_is_done_once)
{
	for (int i = 0; i < CHORES; i++)
		background_add(bg, &works[i].chore, do_work);
	for (int i = CHORES - 1; i >= 0; i--)
		background_finish(bg, &works[i].chore);
	for (int i = 0; i < CHORES; i++) {
		CHECK_EQ(works[i].times, 1);
		CHECK_EQ(works[i].chore.state, CHORE_DONE);
	}
}

/* The thread is busy: what is asked for meanwhile doesn't wait for it. */
TEST(what_was_not_begun_is_done_by_who_needs_it)
{
	background_add(bg, &works[0].chore, wait_at_gate);
	for (int i = 1; i < 4; i++)
		background_add(bg, &works[i].chore, do_work);
	while (!__atomic_load_n(&waiting, __ATOMIC_RELAXED))
		usleep(100);
	background_finish(bg,
			  &works[2].chore); /* in the middle, then the last one, then the first */
	background_finish(bg, &works[3].chore);
	background_finish(bg, &works[1].chore);
	background_add(bg, &works[4].chore, do_work);
	CHECK_EQ(works[2].turn, 0);
	CHECK_EQ(works[3].turn, 1);
	CHECK_EQ(works[1].turn, 2);
	CHECK_EQ(works[0].times, 0);
	CHECK_EQ(write(gate[1], "x", 1), 1);
	background_finish(bg, &works[0].chore);
	CHECK_EQ(works[0].times, 1);
	background_finish(bg, &works[4].chore);
	CHECK_EQ(works[4].times, 1);
}

static void *open_gate(void *arg)
{
	(void)arg;
	usleep(20000);
	CHECK_EQ(write(gate[1], "x", 1), 1);
	return NULL;
}

TEST(the_end_waits_for_what_is_begun)
{
	pthread_t opener;

	background_add(bg, &works[0].chore, wait_at_gate);
	while (!__atomic_load_n(&waiting, __ATOMIC_RELAXED))
		usleep(100);
	CHECK_EQ(pthread_create(&opener, NULL, open_gate, NULL), 0);
	background_free(bg);
	bg = NULL;
	CHECK_EQ(works[0].times, 1);
	pthread_join(opener, NULL);
	background_free(background_new());
	background_free(NULL);
}
