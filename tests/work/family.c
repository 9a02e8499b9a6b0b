// SPDX-License-Identifier: GPL-2.0-only
/*
 * family CHILDREN: the process "parent" makes children, "kid", one after the other. Each waits,
 * spins, and exits 200 ms later, so that a busy tracer can read its mappings. A kid's waits last
 * until the parent writes to a pipe, at least 1 ms after the kid has blocked: in a sleep, the time
 * from the timer's start to the switch would not count.
 */
#include <sys/wait.h>

#include "work.h"

#define KID_NAPS 13

static int naps[2];

WORK_FUNCTION void kid_nap(void)
{
	work_read(naps[0]);
	WORK_KEEP_FRAME();
}

WORK_FUNCTION void kid_spin(void)
{
	uint64_t end_ns = work_clock(CLOCK_THREAD_CPUTIME_ID) + 20 * NS_PER_MS;

	while (work_clock(CLOCK_THREAD_CPUTIME_ID) < end_ns)
		;
	WORK_KEEP_FRAME();
}

WORK_FUNCTION void kid_main(void)
{
	work_set_comm("kid");
	for (int i = 0; i < KID_NAPS; i++)
		kid_nap();
	kid_spin();
	work_sleep(200 * NS_PER_MS);
	WORK_KEEP_FRAME();
}

static int is_blocked(pid_t pid)
{
	char path[32], state = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	file = fopen(path, "r");
	if (!file || fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
		abort();
	fclose(file);
	return state == 'S';
}

static void wake_from_naps(pid_t pid)
{
	for (int i = 0; i < KID_NAPS; i++) {
		while (!is_blocked(pid))
			work_sleep(NS_PER_MS / 10);
		work_sleep(NS_PER_MS);
		if (write(naps[1], "", 1) != 1)
			abort();
	}
}

int main(int argc, char **argv)
{
	int n = work_number(argc, argv, 1, 1);
	pid_t pid;

	work_set_comm("parent");
	if (pipe(naps) != 0)
		return 1;
	work_wait_go();
	for (int i = 0; i < n; i++) {
		pid = fork();
		if (pid == 0) {
			kid_main();
			_exit(0);
		}
		wake_from_naps(pid);
		waitpid(pid, NULL, 0);
	}
	work_wait_end();
	return 0;
}
