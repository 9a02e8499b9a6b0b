/* SPDX-License-Identifier: GPL-2.0-only */
/* The load of the traced system while a tool runs: processes that count their own progress. */
#ifndef WORK_H
#define WORK_H

#include <stdint.h>
#include <sys/types.h>

enum work_kind {
	WORK_PINGPONG, /* two processes on one CPU hand each other a byte: wake-ups and switches */
	WORK_SPIN,     /* one process computes */
	WORK_ALLOCATE, /* one process takes a block and gives it back */
	WORK_FAULT,    /* one process maps memory, touches each page of it, and gives it back */
	WORK_CALLS,    /* one process makes the shortest system call there is */
};

struct work {
	pid_t pids[2]; /* 0: not there */
	volatile uint64_t *ops;
};

/* Starts it on that CPU. 0 or -errno, printed. */
int work_start(struct work *work, enum work_kind kind, int cpu);
void work_stop(struct work *work);

/* Keeps the calling process, and those that it starts, on one CPU. */
void work_pin(int cpu);

#endif
