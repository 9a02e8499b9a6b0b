// SPDX-License-Identifier: GPL-2.0-only
/*
 * paths THREADS WAITS SLEEP_MS [lock|block]: THREADS threads that each wait WAITS times, each time
 * with a new stack. They sleep, or with "lock" wait for a lock whose holder sleeps, or with "block"
 * allocate memory, sleep, and free it. Another thread, "rarely", waits once, for SLEEP_MS.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "ways.h"

#define DEPTH 24

static int waits;
static bool has_lock, has_block;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t sleep_ns;

/* Sleeps after the unlock, so that another thread locks the mutex next. */
WORK_FUNCTION void wait_for_lock(void)
{
	pthread_mutex_lock(&lock);
	work_sleep(NS_PER_MS / 20);
	pthread_mutex_unlock(&lock);
	work_sleep(NS_PER_MS / 20);
}

WORK_FUNCTION void sleep_with_block(void)
{
	void *volatile block = malloc(1000);

	work_sleep(NS_PER_MS);
	free(block);
}

WORK_FUNCTION void leaf(void)
{
	if (has_lock)
		wait_for_lock();
	else if (has_block)
		sleep_with_block();
	else
		work_sleep(NS_PER_MS);
	WORK_KEEP_FRAME();
}

WORK_FUNCTION void sleep_long(void)
{
	work_sleep(sleep_ns);
	WORK_KEEP_FRAME();
}

static void *wait_rarely(void *arg)
{
	work_set_comm("rarely");
	sleep_long();
	return arg;
}

static void *walk(void *arg)
{
	uint64_t first = (uint64_t)(long)arg * (uint64_t)waits;

	for (int i = 0; i < waits; i++)
		step(first + (uint64_t)i, DEPTH);
	return NULL;
}

int main(int argc, char **argv)
{
	int n = work_number(argc, argv, 1, 1);
	pthread_t threads[33];

	waits = work_number(argc, argv, 2, 1);
	sleep_ns = (uint64_t)work_number(argc, argv, 3, 0) * NS_PER_MS;
	has_lock = argc > 4 && !strcmp(argv[4], "lock");
	has_block = argc > 4 && !strcmp(argv[4], "block");
	if (n > 32)
		return 1;
	work_wait_go();
	pthread_create(&threads[n], NULL, wait_rarely, NULL);
	for (long i = 0; i < n; i++)
		pthread_create(&threads[i], NULL, walk, (void *)i);
	for (int i = 0; i <= n; i++)
		pthread_join(threads[i], NULL);
	work_wait_end();
	return 0;
}
