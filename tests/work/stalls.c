// SPDX-License-Identifier: GPL-2.0-only
/*
 * A service that works a little every 2 ms, except in stalls: `stalls REASON MS [N GAP_MS]` makes N
 * of them (1), each after GAP_MS (100) to twice as much. The reasons:
 *	compute	computes for MS (in a cgroup with a small CPU quota: is throttled)
 *	lock	another thread holds the service's lock for MS
 * Prints "@stall UNIX_MS" at the beginning of each. Threads of a pool wait for work all the time.
 */
#include <pthread.h>
#include <string.h>
#include <sys/epoll.h>

#include "work.h"

static pthread_mutex_t service_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t pool_condition = PTHREAD_COND_INITIALIZER;

WORK_FUNCTION void burn(uint64_t ns)
{
	uint64_t end_ns = work_clock(CLOCK_MONOTONIC) + ns;

	while (work_clock(CLOCK_MONOTONIC) < end_ns)
		;
	WORK_KEEP_FRAME();
}

static void *hold_lock(void *ns)
{
	work_set_comm("holder");
	pthread_mutex_lock(&service_lock);
	work_sleep(*(const uint64_t *)ns);
	pthread_mutex_unlock(&service_lock);
	return NULL;
}

static void *pool(void *arg)
{
	work_set_comm("pool");
	pthread_mutex_lock(&pool_lock);
	for (;;)
		pthread_cond_wait(&pool_condition, &pool_lock);
	return arg;
}

static void *events(void *arg)
{
	struct epoll_event event;

	work_set_comm("events");
	epoll_wait(epoll_create1(0), &event, 1, -1);
	return arg;
}

static void begin_stall(const char *reason, uint64_t *ns)
{
	pthread_t holder;

	printf("@stall %llu\n", (unsigned long long)(work_clock(CLOCK_REALTIME) / NS_PER_MS));
	fflush(stdout);
	if (!strcmp(reason, "compute"))
		burn(*ns);
	else
		pthread_create(&holder, NULL, hold_lock, ns);
}

/* Works for that long. */
WORK_FUNCTION void serve(uint64_t ns)
{
	uint64_t end_ns = work_clock(CLOCK_MONOTONIC) + ns;

	while (work_clock(CLOCK_MONOTONIC) < end_ns) {
		work_sleep(2 * NS_PER_MS);
		pthread_mutex_lock(&service_lock);
		burn(NS_PER_MS / 20);
		pthread_mutex_unlock(&service_lock);
	}
	WORK_KEEP_FRAME();
}

int main(int argc, char **argv)
{
	const char *reason = argc > 1 ? argv[1] : "compute";
	uint64_t ns = (uint64_t)work_number(argc, argv, 2, 300) * NS_PER_MS;
	int n = work_number(argc, argv, 3, 1), gap_ms = work_number(argc, argv, 4, 100);
	pthread_t thread;

	work_set_comm("service");
	pthread_create(&thread, NULL, pool, NULL);
	pthread_create(&thread, NULL, events, NULL);
	srand((unsigned int)getpid());
	work_wait_go();
	for (int i = 0; i < n; i++) {
		serve((uint64_t)(gap_ms + rand() % gap_ms) * NS_PER_MS);
		begin_stall(reason, &ns);
	}
	serve((uint64_t)gap_ms * NS_PER_MS + ns);
	work_wait_end();
	return 0;
}
