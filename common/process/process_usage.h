/* SPDX-License-Identifier: GPL-2.0-only */
/* Resources that processes have used, from /proc: memory, page faults, and waits for a CPU. */
#ifndef PROCESS_USAGE_H
#define PROCESS_USAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/idmap.h"

/* Resources that processes have used up to one moment; zero: none. */
struct process_usage {
	uint64_t moment_ticks; /* since boot */
	size_t n_threads;
	uint64_t resident_bytes;
	struct idmap processes; /* page faults since the process began, by pid */
	struct idmap threads;	/* waits for a CPU since the thread began, by tid */
};

/* Returns the usage of n processes, freed with process_usage_free(). */
struct process_usage process_usage_read(const pid_t *pids, size_t n);
void process_usage_free(struct process_usage *usage);

/*
 * Returns the time that threads waited for a CPU between two moments. Only threads that exist at
 * the second one count; new processes count if they began after the first one.
 */
uint64_t process_usage_waited_ns(const struct process_usage *before,
				 const struct process_usage *now);

/*
 * Returns a text about the usage between two moments, in two lines of at most 80 columns, freed by
 * the caller; NULL: there are no processes. The same threads count as in process_usage_waited_ns().
 * Memory growth is omitted unless both have the same processes. has_delays: with waits for a CPU.
 */
char *process_usage_describe(const struct process_usage *before, const struct process_usage *now,
			     bool has_delays);

#endif
