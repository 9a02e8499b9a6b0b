// SPDX-License-Identifier: GPL-2.0-only
/*
 * crowd THREADS NAPS: starts and joins THREADS threads, one after the other. Then the thread "late"
 * prints its tid, sleeps NAPS times and stays. The main thread is "early".
 */
#include <pthread.h>

#include "work.h"

static int naps;

static void *pass_by(void *arg)
{
	return arg;
}

WORK_FUNCTION void late_nap(void)
{
	work_sleep(NS_PER_MS);
	WORK_KEEP_FRAME();
}

static void *stay(void *arg)
{
	work_set_comm("late");
	work_say("tid", (uint64_t)work_tid());
	for (int i = 0; i < naps; i++)
		late_nap();
	work_wait_end();
	return arg;
}

int main(int argc, char **argv)
{
	int n_threads = work_number(argc, argv, 1, 1);
	pthread_t thread;

	naps = work_number(argc, argv, 2, 1);
	work_set_comm("early");
	work_wait_go();
	for (int i = 0; i < n_threads; i++) {
		if (pthread_create(&thread, NULL, pass_by, NULL))
			return 1;
		pthread_join(thread, NULL);
	}
	pthread_create(&thread, NULL, stay, NULL);
	pthread_join(thread, NULL);
	return 0;
}
