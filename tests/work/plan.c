// SPDX-License-Identifier: GPL-2.0-only
/*
 * plan THREADS ROUNDS SLEEP_MS SPIN_MS [SHORT_SLEEP_MS [NAME]]: threads "plan-0", "plan-1", ..., or
 * all with the comm NAME, which alternately sleep and spin. Each prints how long it was off the
 * CPU, without steal time of a virtual machine. The first is the process's main thread.
 */
#include <pthread.h>

#include "work.h"

static int rounds;
static const char *name;
static __thread uint64_t off_ns;
static uint64_t sleep_ns, spin_ns, short_ns;

WORK_FUNCTION void plan_nap(uint64_t ns)
{
	work_sleep(ns);
	WORK_KEEP_FRAME();
}

WORK_FUNCTION void plan_doze(uint64_t ns)
{
	work_sleep(ns);
	WORK_KEEP_FRAME();
}

WORK_FUNCTION void plan_spin(void)
{
	uint64_t end_ns = work_clock(CLOCK_THREAD_CPUTIME_ID) + spin_ns;

	while (work_clock(CLOCK_THREAD_CPUTIME_ID) < end_ns)
		;
	WORK_KEEP_FRAME();
}

/* Naps and spins, and adds the time of naps, and of waits for a CPU while spinning, to off_ns. */
WORK_FUNCTION void plan_run(void)
{
	struct work_moment last = work_moment(), now;

	for (int i = 0; i < rounds; i++) {
		plan_nap(sleep_ns);
		if (short_ns)
			plan_doze(short_ns);
		now = work_moment();
		off_ns += now.now_ns - last.now_ns;
		plan_spin();
		last = work_moment();
		off_ns += last.waited_ns - now.waited_ns;
	}
	WORK_KEEP_FRAME();
}

static void *plan_thread(void *arg)
{
	char comm[32];

	snprintf(comm, sizeof(comm), "plan-%ld", (long)arg);
	if (!name)
		work_set_comm(comm);
	plan_run();
	work_say("off_ns", off_ns);
	work_say("tid", (uint64_t)work_tid());
	return NULL;
}

int main(int argc, char **argv)
{
	int n_threads = work_number(argc, argv, 1, 1);
	pthread_t threads[16];

	rounds = work_number(argc, argv, 2, 1);
	sleep_ns = (uint64_t)work_number(argc, argv, 3, 1) * NS_PER_MS;
	spin_ns = (uint64_t)work_number(argc, argv, 4, 1) * NS_PER_MS;
	short_ns = (uint64_t)work_number(argc, argv, 5, 0) * NS_PER_MS;
	if (n_threads > 16)
		return 1;
	if (argc > 6)
		work_set_comm(name = argv[6]);
	work_wait_go();
	for (long i = 1; i < n_threads; i++)
		pthread_create(&threads[i], NULL, plan_thread, (void *)i);
	plan_thread(NULL);
	for (int i = 1; i < n_threads; i++)
		pthread_join(threads[i], NULL);
	work_wait_end();
	return 0;
}
