/* SPDX-License-Identifier: GPL-2.0-only */
/* Children of a test, forked from it with all of its mappings. */
#ifndef UNIT_CHILD_H
#define UNIT_CHILD_H

#include <sched.h>
#include <sys/types.h>

#include "unit.h"

/* One that does this and ends. */
static inline pid_t start_child_with(void (*body)(void))
{
	pid_t pid = fork();

	if (pid < 0)
		abort(); /* end_child() would end everybody */
	if (pid)
		return pid;
	body();
	_exit(0);
}

static inline void sleep_for_ever(void)
{
	for (;;)
		pause();
}

static inline pid_t start_child(void)
{
	return start_child_with(sleep_for_ever);
}

static inline void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* The state of a process's main thread, as in /proc/PID/stat; '-': it is gone. */
static inline char stat_state(pid_t pid)
{
	char path[64], state = '-';
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "re");
	if (f && fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
		state = '-';
	if (f)
		fclose(f);
	return state;
}

static inline bool go_to_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return !sched_setaffinity(0, sizeof(set), &set);
}

/*
 * Runs checks in a child, which what they change ends with, and takes over its failures. prepare
 * is called there before; NULL: there is nothing to prepare.
 */
static inline void check_apart_after(void (*prepare)(void), void (*checks)(void))
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0)
		abort();
	if (!pid) {
		unit_failures = 0;
		if (prepare)
			prepare();
		checks();
		if (unit_after_each)
			unit_after_each();
		fflush(stdout);
		_exit(unit_failures ? 1 : 0);
	}
	waitpid(pid, &status, 0);
	CHECK_EQ(status, 0);
}

static inline void check_apart(void (*checks)(void))
{
	check_apart_after(NULL, checks);
}

/* A test that runs in a child. */
#define TEST_APART(id)                      \
	static void id##_in_child(void);    \
	TEST(id)                            \
	{                                   \
		check_apart(id##_in_child); \
	}                                   \
	static void id##_in_child(void)

#endif
