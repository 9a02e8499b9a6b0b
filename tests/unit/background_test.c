// SPDX-License-Identifier: GPL-2.0-only
/* Jobs: each is done once, in order, by the thread or by who needs it first. */
#include <pthread.h>

#include "base/background.h"
#include "unit.h"

#define JOBS 200

struct work {
	struct job job; /* first: a job is its work */
	int times;
	int turn; /* when it was done */
};

static struct work works[JOBS];
static int turns, waiting;
static int gate[2]; /* a byte lets a job end */

static void do_work(struct job *job)
{
	struct work *work = (struct work *)job;

	work->times++;
	work->turn = __atomic_fetch_add(&turns, 1, __ATOMIC_RELAXED);
}

static void wait_at_gate(struct job *job)
{
	char byte;

	__atomic_fetch_add(&waiting, 1, __ATOMIC_RELAXED);
	while (read(gate[0], &byte, 1) != 1)
		continue;
	do_work(job);
}

static struct background *bg;

BEFORE_EACH()
{
	bg = background_new();
	turns = waiting = 0;
	for (int i = 0; i < JOBS; i++)
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
	for (int i = 0; i < JOBS; i++)
		background_add(bg, &works[i].job, do_work);
	for (int i = JOBS - 1; i >= 0; i--)
		background_finish(bg, &works[i].job);
	for (int i = 0; i < JOBS; i++) {
		CHECK_EQ(works[i].times, 1);
		CHECK_EQ(works[i].job.state, JOB_DONE);
	}
}

/* The thread is busy: what is asked for meanwhile doesn't wait for it. */
TEST(what_was_not_begun_is_done_by_who_needs_it)
{
	background_add(bg, &works[0].job, wait_at_gate);
	for (int i = 1; i < 4; i++)
		background_add(bg, &works[i].job, do_work);
	while (!__atomic_load_n(&waiting, __ATOMIC_RELAXED))
		usleep(100);
	background_finish(bg, &works[2].job); /* in the middle, then the last one, then the first */
	background_finish(bg, &works[3].job);
	background_finish(bg, &works[1].job);
	background_add(bg, &works[4].job, do_work);
	CHECK_EQ(works[2].turn, 0);
	CHECK_EQ(works[3].turn, 1);
	CHECK_EQ(works[1].turn, 2);
	CHECK_EQ(works[0].times, 0);
	CHECK_EQ(write(gate[1], "x", 1), 1);
	background_finish(bg, &works[0].job);
	CHECK_EQ(works[0].times, 1);
	background_finish(bg, &works[4].job);
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

	background_add(bg, &works[0].job, wait_at_gate);
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
