// SPDX-License-Identifier: GPL-2.0-only
/*
 * plan THREADS ROUNDS SLEEP_MS SPIN_MS [SHORT_SLEEP_MS [NAME]]: threads "plan-0", "plan-1", ...
 * which all sleep and spin by turns. Each tells how long it took by the clock and had a CPU. The
 * first one is the process's main thread. With NAME all threads are called so.
 */
#include <pthread.h>

#include "work.h"

static int rounds;
static const char *name;
static __thread int64_t stolen_ns;
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

/*
 * In a virtual machine the host takes the CPU away at times, which the thread's CPU clock leaves out
 * and no switch tells of: time that passed beyond what that clock says, without a switch. Where it is
 * taken away between the two clocks, both are looked at again.
 */
#define MAX_LOOK_NS (NS_PER_MS / 5)

struct lap {
	uint64_t switches_before, wall_ns, cpu_ns, switches_after;
};

static struct lap lap_take(void)
{
	struct lap lap;

	for (int tries = 0; tries < 100; tries++) {
		lap.switches_before = work_switches();
		lap.wall_ns = work_clock(CLOCK_MONOTONIC);
		lap.cpu_ns = work_clock(CLOCK_THREAD_CPUTIME_ID);
		if (work_clock(CLOCK_MONOTONIC) < lap.wall_ns + MAX_LOOK_NS)
			break;
	}
	lap.switches_after = work_switches();
	return lap;
}

static int64_t lap_stolen(const struct lap *from, const struct lap *to)
{
	uint64_t wall_ns = to->wall_ns - from->wall_ns, cpu_ns = to->cpu_ns - from->cpu_ns;

	return to->switches_after == from->switches_before ? (int64_t)(wall_ns - cpu_ns) : 0;
}

WORK_FUNCTION void plan_spin(void)
{
	struct lap last = lap_take(), now;
	uint64_t end_ns = last.cpu_ns + spin_ns;

	while (last.cpu_ns < end_ns) {
		now = lap_take();
		stolen_ns += lap_stolen(&last, &now);
		last = now;
	}
	WORK_KEEP_FRAME();
}

WORK_FUNCTION void plan_run(void)
{
	for (int i = 0; i < rounds; i++) {
		plan_nap(sleep_ns);
		if (short_ns)
			plan_doze(short_ns);
		plan_spin();
	}
	WORK_KEEP_FRAME();
}

static void *plan_thread(void *arg)
{
	uint64_t start_ns = work_clock(CLOCK_MONOTONIC), cpu_ns;
	char comm[32];

	snprintf(comm, sizeof(comm), "plan-%ld", (long)arg);
	if (!name)
		work_set_comm(comm);
	cpu_ns = work_clock(CLOCK_THREAD_CPUTIME_ID);
	plan_run();
	cpu_ns = work_clock(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
	work_say("wall_ns", work_clock(CLOCK_MONOTONIC) - start_ns);
	work_say("cpu_ns", cpu_ns + (uint64_t)stolen_ns);
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
