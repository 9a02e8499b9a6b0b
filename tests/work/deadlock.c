// SPDX-License-Identifier: GPL-2.0-only
/*
 * deadlock THREADS [free]: each thread, "waits0" and so on, locks its own mutex, then waits forever
 * for the next thread's. Another thread, "leads", waits for the mutex of "waits0". With "free", the
 * last thread doesn't wait for a mutex, so there is no deadlock. Prints "@waitsN tid TID".
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "work.h"

#define MAX_THREADS 8

static pthread_mutex_t mutexes[MAX_THREADS];
static pthread_barrier_t all_have_one;
static atomic_int tids[MAX_THREADS + 1];
static int n_threads;
static bool is_free;

WORK_FUNCTION void wait_forever(pthread_mutex_t *mutex)
{
	pthread_mutex_lock(mutex);
	WORK_KEEP_FRAME();
}

static void *take_two(void *arg)
{
	int i = (int)(intptr_t)arg;
	char comm[16];

	snprintf(comm, sizeof(comm), "waits%d", i);
	work_set_comm(comm);
	work_say("tid", (uint64_t)work_tid());
	pthread_mutex_lock(&mutexes[i]);
	pthread_barrier_wait(&all_have_one);
	pthread_barrier_wait(&all_have_one);
	while (is_free && i == n_threads - 1)
		work_sleep(NS_PER_S);
	atomic_store(&tids[i], (int)work_tid());
	wait_forever(&mutexes[(i + 1) % n_threads]);
	return NULL;
}

static void *take_first(void *arg)
{
	work_set_comm("leads");
	pthread_barrier_wait(&all_have_one);
	pthread_barrier_wait(&all_have_one);
	atomic_store(&tids[n_threads], (int)work_tid());
	wait_forever(&mutexes[0]);
	return arg;
}

/* Returns true if the thread is in a system call whose first argument is the mutex. */
static bool waits_for(int tid, const pthread_mutex_t *mutex)
{
	unsigned long addr = 0;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", tid);
	f = fopen(path, "r");
	if (f && fscanf(f, "%*d %lx", &addr) != 1)
		addr = 0;
	if (f)
		fclose(f);
	return addr == (uintptr_t)mutex;
}

static void wait_until_waits(int i, const pthread_mutex_t *mutex)
{
	while (!waits_for(atomic_load(&tids[i]), mutex))
		work_sleep(NS_PER_MS);
}

int main(int argc, char **argv)
{
	pthread_t thread;

	n_threads = work_number(argc, argv, 1, 2);
	is_free = argc > 2 && !strcmp(argv[2], "free");
	if (n_threads < 1 || n_threads > MAX_THREADS)
		return 1;
	pthread_barrier_init(&all_have_one, NULL, (unsigned int)n_threads + 2);
	for (int i = 0; i < n_threads; i++)
		pthread_create(&thread, NULL, take_two, (void *)(intptr_t)i);
	pthread_create(&thread, NULL, take_first, NULL);
	pthread_barrier_wait(&all_have_one);
	work_wait_go();
	pthread_barrier_wait(&all_have_one);
	for (int i = 0; i < n_threads - is_free; i++)
		wait_until_waits(i, &mutexes[(i + 1) % n_threads]);
	wait_until_waits(n_threads, &mutexes[0]);
	work_wait_end();
	_exit(0);
}
