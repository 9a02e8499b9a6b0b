// SPDX-License-Identifier: GPL-2.0-only
/*
 * pingpong ROUNDS [CPU]: a process, "wakee", is woken up ROUNDS times by its child, "waker", by a
 * pipe, and answers by another pipe. Prints the child's pid. On one CPU, the wakee waits each time:
 * the child doesn't preempt it.
 */
#include "work.h"

static int to_wakee[2], to_waker[2];

static void write_byte(int fd)
{
	if (write(fd, "x", 1) != 1)
		exit(1);
}

WORK_FUNCTION void waker_poke(void)
{
	write_byte(to_wakee[1]);
	WORK_KEEP_FRAME();
}

WORK_FUNCTION void waker_main(void)
{
	struct sched_param param = { 0 };

	work_set_comm("waker");
	if (sched_setscheduler(0, SCHED_BATCH, &param))
		exit(1);
	while (work_read(to_waker[0]) == 1)
		waker_poke();
	WORK_KEEP_FRAME();
}

WORK_FUNCTION int wakee_wait(void)
{
	int n = work_read(to_wakee[0]);

	WORK_KEEP_FRAME();
	return n;
}

WORK_FUNCTION void wakee_main(int rounds)
{
	for (int i = 0; i < rounds; i++) {
		write_byte(to_waker[1]);
		if (wakee_wait() != 1)
			exit(1);
	}
	WORK_KEEP_FRAME();
}

int main(int argc, char **argv)
{
	pid_t waker;

	work_pin(work_number(argc, argv, 2, -1));
	if (pipe(to_wakee) || pipe(to_waker))
		return 1;
	waker = fork();
	if (waker == 0) {
		close(to_waker[1]);
		close(to_wakee[0]);
		waker_main();
		_exit(0);
	}
	work_set_comm("wakee");
	work_say("waker", (uint64_t)waker);
	work_wait_go();
	wakee_main(work_number(argc, argv, 1, 1));
	work_wait_end();
	return 0;
}
