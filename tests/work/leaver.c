// SPDX-License-Identifier: GPL-2.0-only
/*
 * leaver ROUNDS NAP_MS: alternately sleeps as "stayer" until a time that has passed, which wakes it
 * up before it has left its CPU, and naps as "leaver".
 */
#include "work.h"

#define TRIES 100

static void sleep_until_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &now, NULL);
}

int main(int argc, char **argv)
{
	int rounds = work_number(argc, argv, 1, 1);
	uint64_t nap_ns = (uint64_t)work_number(argc, argv, 2, 1) * NS_PER_MS;

	prctl(PR_SET_TIMERSLACK, 1);
	work_wait_go();
	for (int i = 0; i < rounds; i++) {
		work_set_comm("stayer");
		for (int k = 0; k < TRIES; k++)
			sleep_until_now();
		work_set_comm("leaver");
		work_sleep(nap_ns);
	}
	work_wait_end();
	return 0;
}
