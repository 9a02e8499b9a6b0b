// SPDX-License-Identifier: GPL-2.0-only
/*
 * parts MS [CPU]: threads that each spend about MS in one state. "p-spin" spins, "p-sleep" sleeps,
 * "p-lock" waits for a lock held by "p-holder", "p-rival-a" and "p-rival-b" compete for one CPU,
 * and "p-before" is renamed to "p-after" while it spins. Each prints its total time, and the time
 * on a CPU, blocked and runnable, and how long the renames before and after took at most; then it
 * is "p-done". The main thread, "parts", waits for all.
 */
#include <pthread.h>

#include "work.h"

#define NAP_MS 7

static uint64_t part_ns;
static int rivals_cpu = -1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t holder_has_it;

WORK_FUNCTION uint64_t parts_burn(uint64_t x)
{
	for (volatile int i = 0; i < 100000; i++) /* takes much longer than reading the clock */
		x = x * 6364136223846793005ULL + 1442695040888963407ULL;
	return x;
}

WORK_FUNCTION uint64_t parts_spin(uint64_t ns)
{
	uint64_t end_ns = work_clock(CLOCK_THREAD_CPUTIME_ID) + ns, x = ns;

	while (work_clock(CLOCK_THREAD_CPUTIME_ID) < end_ns)
		x = parts_burn(x);
	return x;
}

WORK_FUNCTION void parts_sleep(void)
{
	for (uint64_t slept = 0; slept < part_ns; slept += NAP_MS * NS_PER_MS)
		work_sleep(NAP_MS * NS_PER_MS);
	WORK_KEEP_FRAME();
}

WORK_FUNCTION void parts_lock(void)
{
	pthread_mutex_lock(&lock);
	WORK_KEEP_FRAME();
}

WORK_FUNCTION void parts_hold(void)
{
	pthread_mutex_lock(&lock);
	pthread_barrier_wait(&holder_has_it);
	work_sleep(part_ns);
	pthread_mutex_unlock(&lock);
}

static void say(const char *name, const char *key, uint64_t value)
{
	printf("@%s %s %llu\n", name, key, (unsigned long long)value);
}

/* A thread's time under one name. */
struct part {
	const char *name;
	uint64_t naming_ns; /* maximum duration of the rename before it */
	struct work_moment from;
};

static struct part begin_part(const char *name)
{
	struct part part = { .name = name };
	uint64_t before_ns = work_clock(CLOCK_MONOTONIC);

	work_set_comm(name);
	part.from = work_moment();
	part.naming_ns = part.from.now_ns - before_ns;
	return part;
}

/*
 * Ends a part and prints its times, under another name. A thread that only spins is on a CPU
 * whenever it isn't runnable: its CPU clock may omit time that interrupts or the host took.
 */
static void end_part(struct part part, int only_spins)
{
	struct work_moment from = part.from, to = work_moment();
	uint64_t all_ns = to.now_ns - from.now_ns, runnable_ns = to.waited_ns - from.waited_ns;
	uint64_t cpu_ns = only_spins ? all_ns - runnable_ns : to.cpu_ns - from.cpu_ns;
	const char *name = part.name;

	work_set_comm("p-done");
	say(name, "naming_ns", part.naming_ns + work_clock(CLOCK_MONOTONIC) - to.now_ns);
	say(name, "all_ns", all_ns);
	say(name, "on_cpu_ns", cpu_ns);
	say(name, "runnable_ns", runnable_ns);
	say(name, "blocked_ns", all_ns - runnable_ns - cpu_ns);
}

static void *spin_thread(void *arg)
{
	struct part part = begin_part("p-spin");

	parts_spin(part_ns);
	end_part(part, 1);
	return arg;
}

static void *sleep_thread(void *arg)
{
	struct part part = begin_part("p-sleep");

	parts_sleep();
	end_part(part, 0);
	return arg;
}

static void *lock_thread(void *arg)
{
	struct part part;

	pthread_barrier_wait(&holder_has_it);
	part = begin_part("p-lock");
	parts_lock();
	end_part(part, 0);
	return arg;
}

static void *hold_thread(void *arg)
{
	work_set_comm("p-holder");
	parts_hold();
	return arg;
}

static void *rival_thread(void *name)
{
	struct part part;

	work_pin(rivals_cpu);
	part = begin_part(name);
	parts_spin(part_ns / 2);
	end_part(part, 1);
	return NULL;
}

static void *rename_thread(void *arg)
{
	struct part part = begin_part("p-before");

	parts_spin(part_ns / 4);
	end_part(part, 1);
	part = begin_part("p-after");
	parts_spin(part_ns / 4);
	end_part(part, 1);
	return arg;
}

int main(int argc, char **argv)
{
	static void *(*const bodies[])(void *) = { hold_thread,	 lock_thread,  sleep_thread,
						   rival_thread, rival_thread, spin_thread,
						   rename_thread };
	static const char *const names[] = { "", "", "", "p-rival-a", "p-rival-b", "", "" };
	pthread_t threads[sizeof(bodies) / sizeof(bodies[0])];

	part_ns = (uint64_t)work_number(argc, argv, 1, 500) * NS_PER_MS;
	rivals_cpu = work_number(argc, argv, 2, -1);
	pthread_barrier_init(&holder_has_it, NULL, 2);
	work_wait_go();
	for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++)
		pthread_create(&threads[i], NULL, bodies[i], (void *)names[i]);
	for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++)
		pthread_join(threads[i], NULL);
	work_wait_end();
	return 0;
}
