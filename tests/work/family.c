// SPDX-License-Identifier: GPL-2.0-only
/*
 * family CHILDREN: when told to go, a process, "parent", makes children, "kid", one after the
 * other, which sleep and spin a little and are gone; not at once, so that even a busy tracer has
 * seen their mappings.
 */
#include <sys/wait.h>

#include "work.h"

#define KID_NAPS 13

WORK_FUNCTION void kid_nap(void)
{
	work_sleep(NS_PER_MS);
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

int main(int argc, char **argv)
{
	int n = work_number(argc, argv, 1, 1);
	pid_t pid;

	work_set_comm("parent");
	work_wait_go();
	for (int i = 0; i < n; i++) {
		pid = fork();
		if (pid == 0) {
			kid_main();
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
	work_wait_end();
	return 0;
}
