/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Conditions of --when: "psi:cpu:20%", "wait>500ms", "stall>200ms", "cpu>90%", "runq>50%",
 * "runq:p99>10ms", "rss>2G", "cmd:COMMAND", "signal". The kernel watches pressure
 * (Documentation/accounting/psi.rst); threads are read several times per limit; the tool runqlat
 * measures percentiles; the rest is tested once per interval.
 */
#ifndef CONDITION_H
#define CONDITION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "process/process_usage.h"
#include "process/thread_stalls.h"

#define CONDITIONS_MAX 8

struct loop;

/* The traced processes, as far as conditions measure them. All zero: the whole machine. */
struct condition_target {
	const uint32_t *pids;
	size_t n_pids;
	const char *cgroup; /* folder of a cgroup (v2); NULL: none */
	bool is_partial;    /* selected by more than processes and cgroups */
};

/* Returns the *n processes of the target, freed by the caller; none for the whole machine. */
pid_t *condition_target_list(const struct condition_target *target, size_t *n);

/* Called when a condition holds. reason: the condition and the measured value. */
typedef void condition_fn(const char *reason, void *arg);

struct condition_kind;

struct condition {
	const struct condition_kind *kind;
	const char *text;   /* as given */
	const char *detail; /* psi: resource; cmd: command; runq: member of JSON */
	uint64_t limit;	    /* percent, bytes, or ns */
	uint64_t window_ns;
	struct condition_stall {
		uint64_t time_ns, total_us;
	} stalls[2]; /* totals of a pressure file: at least a window ago, and later */
	struct conditions *all;

	int fd;	     /* pressure file, pidfd of the command, pipe or timer; -1: none */
	pid_t child; /* the command, or runqlat; 0: none */
	FILE *lines; /* fd as a stream: output of runqlat; NULL: none */
	struct process_usage usage; /* usage at the last test; only for time on run queues */
	uint64_t cpu_ns;	    /* CPU time used at the last test of cpu> */
	uint64_t cpu_read_ns;	    /* time of that test */
	struct thread_stalls stalling;
	uint64_t used_ns;    /* CPU time to read all threads, averaged */
	uint64_t read_at_ns; /* earliest time of the next read of threads */
	bool is_slow;	     /* the target has too many threads; printed */
};

struct conditions {
	struct condition list[CONDITIONS_MAX];
	size_t n;

	const struct condition_target *target;
	struct loop *loop;
	condition_fn *holds;
	void *arg;
	uint64_t tested_ns, tested_before_ns; /* times of the last two tests */

	/* The run: its tool's name, and --interval. */
	const char *tool;
	uint64_t interval_ns;
};

/* An opt_parse_fn: adds a condition (dest: struct conditions *). */
int conditions_parse(const char *what, const char *text, void *dest);

/*
 * Checks the target before the start. has_processes: it is a set of processes or a cgroup;
 * is_partial: single threads. 0; or -EINVAL, printed: a condition can't measure it.
 */
int conditions_check(const struct conditions *conditions, bool has_processes, bool is_partial);

/*
 * Returns the maximum number of intervals between the one in which a condition holds and the one in
 * which that is reported.
 */
unsigned int conditions_delay(const struct conditions *conditions);

/*
 * Begins to watch, once all members but these times are set; they must stay valid. 0 or -errno,
 * printed.
 */
int conditions_open(struct conditions *conditions);

/* Tests at the end of an interval, and starts commands for the next one. */
void conditions_test(struct conditions *conditions);

void conditions_close(struct conditions *conditions);

#endif
