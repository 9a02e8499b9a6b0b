// SPDX-License-Identifier: GPL-2.0-only
/*
 * spin [-t THREADS] [-m CPU_MS] [-i PREEMPTIONS] [-c CPU] [-n NAME] [-s HZ] [-p NS] [-rex]:
 * spins in spin_hot(), called by spin_outer(), until each thread has used CPU_MS or was preempted
 * PREEMPTIONS times (without either: forever). Prints each thread's CPU time, and with -s or -p its
 * samples by the kernel at this rate or period. Thread i runs on the i-th usable CPU, or all on
 * CPU; the first is the process's main thread. -r: with real-time priority. -e: with nice -20.
 * -x: the last thread, when it has spun, executes "spin -m CPU_MS", which prints the process's CPU
 * time.
 */
#include <pthread.h>

#include "samples.h"
#include "work.h"

static uint64_t cpu_goal_ns;
static uint64_t sample_hz, sample_period_ns;
static long preemption_goal;
static int n_threads = 1, cpu = -1, is_first, executes;
static const char *name = "spin";

WORK_FUNCTION uint64_t spin_hot(uint64_t x)
{
	for (volatile int i = 0; i < 100000; i++) /* takes much longer than reading the clock */
		x = x * 6364136223846793005ULL + 1442695040888963407ULL;
	return x;
}

static long count_preemptions(void)
{
	struct rusage usage = {};

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nivcsw;
}

static int is_done(long preemptions_before)
{
	if (preemption_goal)
		return count_preemptions() - preemptions_before >= preemption_goal;
	return cpu_goal_ns && work_clock(CLOCK_THREAD_CPUTIME_ID) >= cpu_goal_ns;
}

WORK_FUNCTION uint64_t spin_outer(uint64_t x)
{
	long before = count_preemptions();

	while (!is_done(before))
		x = spin_hot(x);
	return x;
}

static void pin_thread(long i)
{
	cpu_set_t set;

	if (cpu >= 0 || n_threads == 1) {
		work_pin(cpu);
		return;
	}
	sched_getaffinity(0, sizeof(set), &set);
	for (int c = 0; c < CPU_SETSIZE; c++)
		if (CPU_ISSET(c, &set) && i-- == 0)
			work_pin(c);
}

static void *spin_thread(void *arg)
{
	struct perf_event_mmap_page *ring = NULL;
	long i = (long)arg;
	char comm[32], ms[32];

	snprintf(comm, sizeof(comm), n_threads > 1 ? "%s-%ld" : "%s", name, i);
	work_set_comm(comm);
	pin_thread(i);
	if (is_first)
		work_go_first();
	if (sample_hz || sample_period_ns)
		work_sample(&ring, sample_hz, sample_period_ns);
	spin_outer((uint64_t)i);
	if (ring)
		work_say("samples", work_samples(ring));
	work_say("cpu_ns", work_clock(CLOCK_THREAD_CPUTIME_ID));
	work_say("tid", (uint64_t)work_tid());
	if (executes && i == n_threads - 1) {
		snprintf(ms, sizeof(ms), "%llu", (unsigned long long)(cpu_goal_ns / NS_PER_MS));
		execl("/proc/self/exe", "spin", "-m", ms, NULL);
		abort();
	}
	return NULL;
}

static void parse_options(int argc, char **argv)
{
	int letter;

	while ((letter = getopt(argc, argv, "t:m:i:c:n:s:p:rex")) != -1) {
		if (letter == 't')
			n_threads = atoi(optarg);
		else if (letter == 'm')
			cpu_goal_ns = (uint64_t)atoi(optarg) * NS_PER_MS;
		else if (letter == 'i')
			preemption_goal = atoi(optarg);
		else if (letter == 'c')
			cpu = atoi(optarg);
		else if (letter == 'r')
			is_first = 1;
		else if (letter == 'x')
			executes = 1;
		else if (letter == 'e')
			setpriority(PRIO_PROCESS, 0, -20);
		else if (letter == 's')
			sample_hz = (uint64_t)atoll(optarg);
		else if (letter == 'p')
			sample_period_ns = (uint64_t)atoll(optarg);
		else if (letter == 'n')
			name = optarg;
	}
}

int main(int argc, char **argv)
{
	pthread_t threads[64] = {};

	parse_options(argc, argv);
	if (n_threads > 64)
		return 1;
	work_set_comm(name);
	work_wait_go();
	for (long i = 1; i < n_threads; i++)
		pthread_create(&threads[i], NULL, spin_thread, (void *)i);
	spin_thread(NULL);
	for (int i = 1; i < n_threads; i++)
		pthread_join(threads[i], NULL);
	work_say("process_ns", work_clock(CLOCK_PROCESS_CPUTIME_ID));
	work_wait_end();
	return 0;
}
