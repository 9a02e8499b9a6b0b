/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Probes on the allocators of the traced processes. A process's mappings are searched for
 * allocators when it is first seen, and again whenever it has mapped more or executed another
 * program. With --duty-cycle, functions that only allocate are probed in windows of time.
 */
#ifndef LEAK_PROBES_H
#define LEAK_PROBES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "abi/filter.h"
#include "base/loop.h"
#include "memleak/allocators.h"
#include "probes/uprobes.h"
#include "run/run.h"

struct leak_probes;

struct probed_process {
	pid_t pid;
	char comm[TASK_COMM_LEN]; /* its name when it was last searched; "": unknown */
	uint64_t cgroup_id;	  /* at that time; 0: unknown */
	struct allocators *found; /* allocators, its own, or with for_all those of all processes */

	pid_t anchor; /* the thread that its probes are bound to; 0: none */
	bool has_exited;
	bool had_ended; /* set if it had exited when the last report was done */
};

/*
 * Before load: chooses how to attach. for_all: a file is probed for every process that maps it, so
 * that children are traced from their first instruction on; BPF leaves out the processes that are
 * not traced. by_thread: processes without a main thread can be probed, too. NULL, printed, where
 * the kernel can't do it; free with leak_probes_free().
 */
struct leak_probes *leak_probes_new(const struct run *run, const struct uprobes_programs *programs,
				    const struct allocators_request *request, bool for_all,
				    bool by_thread);
void leak_probes_free(struct leak_probes *probes);

/*
 * Searches a process's mappings and probes new functions. 0, also if there are none (see
 * leak_probes_count()); -errno if new ones can't be searched or probed.
 */
int leak_probes_add(struct leak_probes *probes, pid_t pid);

/* After load: windows begin, if requested, with a gap. 0 or -errno, printed. */
int leak_probes_begin(struct leak_probes *probes);

/* Returns a process that was added; NULL: it wasn't, or probes is NULL. */
const struct probed_process *leak_probes_find(const struct leak_probes *probes, pid_t pid);

/* Returns the number of probed functions. */
size_t leak_probes_count(const struct leak_probes *probes);

/* Notes that a process has exited: files that it alone had mapped are to be released. */
void leak_probes_end(struct leak_probes *probes, pid_t pid);

/*
 * Called a few times per second: releases files that no process maps. LOOP_STOP, printed, if the
 * probes of a process vanished with the thread that they were bound to.
 */
enum loop_verdict leak_probes_tick(struct leak_probes *probes);

/* Ends a report: releases the processes that had exited when the report before it was done. */
void leak_probes_release(struct leak_probes *probes);

void leak_probes_detach(struct leak_probes *probes);

/* At the end: prints the windows' share of the time, if there were any. */
void leak_probes_print(const struct leak_probes *probes);

#endif
