// SPDX-License-Identifier: GPL-2.0-only
/*
 * states CPU: threads that are off the CPU in one state each. "st-sleep" sleeps (S), "st-vfork"
 * waits for a vfork child (D), "st-spin" is preempted by "st-rival" (R).
 */
#include <limits.h>
#include <pthread.h>
#include <sys/wait.h>

#include "work.h"

#define ROUNDS 23

static int cpu;
static volatile int rival_is_over;

WORK_FUNCTION void state_sleep(void)
{
	work_sleep(5 * NS_PER_MS);
	WORK_KEEP_FRAME();
}

static void *sleep_thread(void *arg)
{
	work_set_comm("st-sleep");
	for (int i = 0; i < ROUNDS; i++)
		state_sleep();
	return arg;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
WORK_FUNCTION pid_t state_vfork(void)
{
	struct timespec ts = { 0, 5000000 };
	pid_t pid = vfork();

	if (pid == 0) {
		nanosleep(&ts, NULL);
		_exit(0);
	}
	return pid;
}
#pragma GCC diagnostic pop

static void *vfork_thread(void *arg)
{
	work_set_comm("st-vfork");
	for (int i = 0; i < ROUNDS; i++)
		waitpid(state_vfork(), NULL, 0);
	return arg;
}

WORK_FUNCTION long count_preemptions(void)
{
	struct rusage usage = {};
	int err = getrusage(RUSAGE_THREAD, &usage);

	WORK_KEEP_FRAME();
	return err ? LONG_MAX : usage.ru_nivcsw;
}

WORK_FUNCTION void state_spin(long until)
{
	while (count_preemptions() < until)
		;
	WORK_KEEP_FRAME();
}

WORK_FUNCTION void state_compete(void)
{
	state_spin(ROUNDS);
	WORK_KEEP_FRAME();
}

static void *spin_thread(void *arg)
{
	work_set_comm("st-spin");
	work_pin(cpu); /* may wait for the CPU, too */
	state_compete();
	rival_is_over = 1;
	return arg;
}

static void *rival_thread(void *arg)
{
	work_set_comm("st-rival");
	work_pin(cpu);
	while (!rival_is_over)
		;
	return arg;
}

int main(int argc, char **argv)
{
	static void *(*const bodies[])(void *) = { rival_thread, spin_thread, sleep_thread,
						   vfork_thread };
	pthread_t threads[4];

	cpu = work_number(argc, argv, 1, 0);
	work_wait_go();
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, bodies[i], NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	work_wait_end();
	return 0;
}
