// SPDX-License-Identifier: GPL-2.0-only
/*
 * resting MS: three threads that wait for MS. "loop" and "pool" wait in functions known as idle
 * waits of event loops and worker pools; "handler" waits in an event loop's callee: not idle.
 */
#include <poll.h>
#include <pthread.h>
#include <string.h>

#include "work.h"

static int rest_ms;

WORK_FUNCTION void wait_for_lock(void)
{
	poll(NULL, 0, rest_ms);
	WORK_KEEP_FRAME();
}

WORK_FUNCTION void handle_request(void)
{
	wait_for_lock();
	WORK_KEEP_FRAME();
}

WORK_FUNCTION void ev_run(int has_event)
{
	if (has_event)
		handle_request();
	else
		poll(NULL, 0, rest_ms);
	WORK_KEEP_FRAME();
}

WORK_FUNCTION void g_async_queue_pop(void)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
	struct timespec end;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += (end.tv_nsec + rest_ms * 1000000L) / 1000000000L;
	end.tv_nsec = (end.tv_nsec + rest_ms * 1000000L) % 1000000000L;
	pthread_mutex_lock(&mutex);
	while (pthread_cond_timedwait(&cond, &mutex, &end) == 0)
		;
	pthread_mutex_unlock(&mutex);
}

static void *run(void *comm)
{
	work_set_comm(comm);
	if (!strcmp(comm, "pool"))
		g_async_queue_pop();
	else
		ev_run(!strcmp(comm, "handler"));
	return NULL;
}

int main(int argc, char **argv)
{
	static char comms[][8] = { "loop", "pool", "handler" };
	pthread_t threads[3];

	rest_ms = work_number(argc, argv, 1, 100);
	work_wait_go();
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, run, comms[i]);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	work_wait_end();
	return 0;
}
