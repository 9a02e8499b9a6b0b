// SPDX-License-Identifier: GPL-2.0-only
/* Use of memory and CPUs; see process_usage.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/readfile.h"
#include "process/process_usage.h"
#include "process/procstate.h"

#define FILE_MAX_BYTES 4096
#define MIB	       (1 << 20)

/* Parses proc_pid_stat(5): the fields after the name, which may contain anything. */
static void add_stat(struct process_usage *usage, pid_t pid)
{
	unsigned long long minor, major, threads, pages;
	char path[64], *text, *after;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	text = readfile(path, FILE_MAX_BYTES, NULL);
	after = text ? strrchr(text, ')') : NULL;
	if (after && sscanf(after,
			    ") %*c %*d %*d %*d %*d %*d %*u %llu %*u %llu %*u %*u %*u %*d %*d %*d "
			    "%*d %llu %*d %*u %*u %llu",
			    &minor, &major, &threads, &pages) == 4) {
		usage->n_processes++;
		usage->n_threads += threads;
		usage->minor_faults += minor;
		usage->major_faults += major;
		usage->resident_bytes += pages * (uint64_t)sysconf(_SC_PAGESIZE);
	}
	free(text);
}

static void add_delays(struct process_usage *usage, pid_t pid, pid_t tid)
{
	unsigned long long delay_ns, n;
	char path[64], *text;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", pid, tid);
	text = readfile(path, FILE_MAX_BYTES, NULL);
	if (text && sscanf(text, "%*u %llu %llu", &delay_ns, &n) == 2) {
		usage->delay_ns += delay_ns;
		usage->n_delays += n;
	}
	free(text);
}

struct process_usage process_usage_read(const pid_t *pids, size_t n)
{
	struct process_usage usage = {};

	for (size_t i = 0; i < n; i++) {
		size_t n_threads;
		pid_t *tids = thread_list(pids[i], &n_threads);

		add_stat(&usage, pids[i]);
		for (size_t k = 0; k < n_threads; k++)
			add_delays(&usage, pids[i], tids[k]);
		free(tids);
	}
	return usage;
}

/* Returns the average wait for a CPU as text, freed by the caller; empty: threads have ended. */
static char *describe_delays(const struct process_usage *before, const struct process_usage *now)
{
	uint64_t n = now->n_delays - before->n_delays;

	if (now->n_delays <= before->n_delays || now->delay_ns < before->delay_ns)
		return mem_strdup("");
	return mem_printf(", their waits for a CPU: %" PRIu64 ", average %.3f ms", n,
			  (double)(now->delay_ns - before->delay_ns) / (double)n / NS_PER_MS);
}

char *process_usage_describe(const struct process_usage *before, const struct process_usage *now)
{
	uint64_t minor = now->minor_faults - before->minor_faults;
	uint64_t major = now->major_faults - before->major_faults;
	char *delays, *text;

	if (!now->n_processes || now->minor_faults < before->minor_faults ||
	    now->major_faults < before->major_faults)
		return NULL;
	delays = describe_delays(before, now);
	text = mem_printf("resident: %.1f MiB (%+.1f), page faults: %" PRIu64 " (%" PRIu64
			  " major)  \nthreads: %zu (%+d)%s",
			  (double)now->resident_bytes / MIB,
			  ((double)now->resident_bytes - (double)before->resident_bytes) / MIB,
			  minor + major, major, now->n_threads,
			  (int)(now->n_threads - before->n_threads), delays);
	free(delays);
	return text;
}
