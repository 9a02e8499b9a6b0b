// SPDX-License-Identifier: GPL-2.0-only
/* threads N: N threads that wait in wait_for_start() until all start, then nap repeatedly. */
#include <pthread.h>

#include "work.h"

#define STACK_BYTES (64 << 10)

static pthread_barrier_t start;

WORK_FUNCTION void wait_for_start(void)
{
	pthread_barrier_wait(&start);
	WORK_KEEP_FRAME();
}

static void *nap(void *arg)
{
	wait_for_start();
	for (;;)
		work_sleep(5 * NS_PER_MS);
	return arg;
}

int main(int argc, char **argv)
{
	int n = work_number(argc, argv, 1, 1);
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	pthread_barrier_init(&start, NULL, (unsigned int)n + 1);
	for (int i = 0; i < n; i++)
		if (pthread_create(&thread, &attr, nap, NULL))
			return 1;
	work_wait_go();
	wait_for_start();
	work_wait_end();
	return 0;
}
