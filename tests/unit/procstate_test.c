// SPDX-License-Identifier: GPL-2.0-only
/* What /proc tells of processes in several states. */
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/procstate.h"
#include "child.h"
#include "unit.h"

static void end_at_once(void)
{
}

TEST(a_zombie_has_ended)
{
	pid_t pid = start_child_with(end_at_once);
	siginfo_t info;

	waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
	CHECK(process_has_ended(pid));
	waitpid(pid, NULL, 0);
	CHECK(process_has_ended(pid));
	CHECK(!process_has_ended(getpid()));
}

static void *stay(void *arg)
{
	pause();
	return arg;
}

static void leave_threads(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, stay, NULL);
	pthread_exit(NULL);
}

static bool main_thread_is_gone(pid_t pid)
{
	char path[64], line[256] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "r");
	if (f && !fgets(line, sizeof(line), f))
		line[0] = '\0';
	if (f)
		fclose(f);
	return strstr(line, ") Z");
}

TEST(other_threads_keep_it_alive)
{
	pid_t pid = start_child_with(leave_threads);

	for (int i = 0; i < 500 && !main_thread_is_gone(pid); i++)
		usleep(10000);
	CHECK(main_thread_is_gone(pid));
	CHECK(!process_has_ended(pid));
	end_child(pid);
}

static void take_odd_name(void)
{
	prctl(PR_SET_NAME, "a) Z (b");
	pause();
}

TEST(names_may_hold_anything)
{
	pid_t pid = start_child_with(take_odd_name);
	char comm[64] = "";

	for (int i = 0; i < 500 && strcmp(comm, "a) Z (b"); i++) {
		usleep(10000);
		CHECK_EQ(process_comm(pid, comm, sizeof(comm)), 0);
	}
	CHECK(!strcmp(comm, "a) Z (b"));
	CHECK(!process_has_ended(pid));
	end_child(pid);
	CHECK(process_comm(pid, comm, sizeof(comm)) < 0);
}

TEST(cpu_time_goes_up)
{
	volatile unsigned int x = 0;
	uint64_t before = process_cpu_ns(getpid());

	while (process_cpu_ns(getpid()) <= before && ++x < 2000000000U)
		;
	CHECK(process_cpu_ns(getpid()) > before);
	CHECK_EQ(process_cpu_ns(1 << 22), 0);
}
