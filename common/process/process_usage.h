/* SPDX-License-Identifier: GPL-2.0-only */
/* What processes have used, from /proc: memory, page faults, and waits for a CPU. */
#ifndef PROCESS_USAGE_H
#define PROCESS_USAGE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Totals of processes at one moment. */
struct process_usage {
	size_t n_processes, n_threads;
	uint64_t resident_bytes;
	uint64_t minor_faults, major_faults; /* since the processes began */
	uint64_t delay_ns, n_delays;	     /* of live threads: time runnable without a CPU */
};

struct process_usage process_usage_read(const pid_t *pids, size_t n);

/*
 * Returns a text about what was used between two moments, in two lines of at most 80 columns, freed
 * by the caller. NULL: processes have ended in between.
 */
char *process_usage_describe(const struct process_usage *before, const struct process_usage *now);

#endif
