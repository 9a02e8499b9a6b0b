/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The BPF programs and perf events of a process that is being watched: when they came, when they
 * first ran, and what the kernel has counted for them (bpf_enable_stats).
 */
#ifndef PROGRAMS_H
#define PROGRAMS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define PROGRAMS_MAX 256

struct program {
	uint32_t id, type; /* enum bpf_prog_type */
	int fd;
	bool is_own;			   /* the watched process holds it */
	uint64_t first_run_ns;		   /* CLOCK_MONOTONIC; 0: has not run */
	uint64_t run_ns, n_runs;	   /* as last read */
	uint64_t mark_ns, n_mark_runs;	   /* as of the last mark */
	uint64_t window_ns, n_window_runs; /* between the last two marks */
};

struct programs {
	struct program items[PROGRAMS_MAX];
	int count;
	uint32_t last_id;
};

/* From now on, programs that are loaded are noticed by programs_poll(). */
void programs_init(struct programs *programs);
void programs_close(struct programs *programs);

/* Looks for new programs and first runs. True if there was any. */
bool programs_poll(struct programs *programs);

/* Finds out which of them the process holds. Returns their number. */
int programs_find_owner(struct programs *programs, pid_t pid);

/* Begins and ends a window of counting. */
void programs_mark(struct programs *programs);

/* The watched process's program that ran most often: the one at the scheduler's switch. */
const struct program *programs_busiest(const struct programs *programs);

/* Returns true if a child has ended; it can still be waited for. */
bool child_has_ended(pid_t pid);

/* How many perf events a process has open. */
int process_perf_events(pid_t pid);

/* The time that a process's first thread has spent on CPUs. */
uint64_t process_cpu_ns(pid_t pid);

/* Returns the context switches of all CPUs since boot. */
uint64_t machine_switches(void);

#endif
