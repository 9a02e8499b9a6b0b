// SPDX-License-Identifier: GPL-2.0-only
/*
 * brief COUNT LANES [PROGRAM]: starts so many processes, as many at a time as there are lanes, each
 * of which ends before long: the program, or brief itself, without arguments. brief then computes
 * and sleeps for a millisecond or two. Tells how many ended well. Built without frame pointers.
 */
#include <string.h>
#include <sys/wait.h>

#include "work.h"

#define WORK_NS (1100 * 1000ULL)

static volatile uint64_t sink, nap_ns = 300 * 1000; /* volatile: functions stay as they are */

WORK_FUNCTION void brief_leaf(uint64_t until_ns)
{
	while (work_clock(CLOCK_MONOTONIC) < until_ns)
		for (int i = 0; i < 1000; i++)
			sink += (uint64_t)i;
	work_sleep(nap_ns);
	WORK_KEEP_FRAME();
}

WORK_FUNCTION void brief_middle(uint64_t until_ns)
{
	brief_leaf(until_ns);
	WORK_KEEP_FRAME();
}

WORK_FUNCTION void brief_outer(void)
{
	brief_middle(work_clock(CLOCK_MONOTONIC) + WORK_NS);
	WORK_KEEP_FRAME();
}

/* The child's comm is the file's name. */
static void start_one(char *const argv[])
{
	pid_t pid = vfork();

	if (pid)
		return;
	execv(argv[0], argv);
	_exit(127);
}

static void run_all(int n, int lanes, char *program)
{
	char *const argv[] = { program, NULL };
	int n_running = 0, n_good = 0, status;

	for (int i = 0; i < n || n_running; n_running--) {
		for (; i < n && n_running < lanes; i++, n_running++)
			start_one(argv);
		if (wait(&status) < 0)
			break;
		n_good += !status;
	}
	work_say("ended", (uint64_t)n_good);
}

static char *own_path(void)
{
	static char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	return n < 0 ? NULL : path;
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		brief_outer();
		return 0;
	}
	work_set_comm("starter");
	work_wait_go();
	run_all(work_number(argc, argv, 1, 1), work_number(argc, argv, 2, 1),
		argc > 3 ? argv[3] : own_path());
	work_wait_end();
	return 0;
}
