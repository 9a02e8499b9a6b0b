/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Probes on the allocators of the traced processes. A process's mappings are searched for
 * allocators when it is first seen, and after new mappings or an exec; if a thread other than the
 * main one has called exec, its probes are attached again. With --duty-cycle, functions that only
 * allocate are probed in windows of time.
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
	struct allocators *found; /* own allocators; with for_all, those of all processes */

	pid_t anchor;	      /* thread to which its probes are bound; 0: none */
	bool was_lost;	      /* the anchor was lost at the last tick */
	bool is_unbound;      /* has executed a program, and could not be probed again yet */
	uint64_t searched_ns; /* time before its last search */
	bool has_exited;
	bool had_ended; /* the process had exited at the end of the last report */
};

/*
 * Chooses how to attach, before load. for_all: probes files for every process, so that children are
 * traced from their first instruction on; BPF ignores untraced processes. by_thread: processes
 * without a main thread can be probed, too. Returns NULL, after printing, if the kernel lacks
 * support. Freed with leak_probes_free().
 */
struct leak_probes *leak_probes_new(const struct run *run, const struct uprobes_programs *programs,
				    const struct allocators_request *request, bool for_all,
				    bool by_thread);
void leak_probes_free(struct leak_probes *probes);

/*
 * Searches a process's mappings and probes new functions. Returns 0, also if there are none (see
 * leak_probes_count()), or -errno if the search or all probes failed.
 */
int leak_probes_add(struct leak_probes *probes, pid_t pid);

/* Starts windows, if requested, with a gap; after load. Returns 0, or -errno after printing. */
int leak_probes_begin(struct leak_probes *probes);

/* Returns an added process; NULL: not added, or probes is NULL. */
const struct probed_process *leak_probes_find(const struct leak_probes *probes, pid_t pid);

/* Returns the number of probed functions. */
size_t leak_probes_count(const struct leak_probes *probes);

/*
 * Notes that a process has exited: files that only it had mapped will be released. maps: those of
 * its last program; NULL: unknown. Returns true if they are newer than the last search, and no
 * allocator in them was probed.
 */
bool leak_probes_end(struct leak_probes *probes, pid_t pid, const struct maps *maps);

/*
 * Releases files that no process maps; called a few times per second. Returns LOOP_STOP, after
 * printing, if a process's probes vanished with the thread to which they were bound.
 */
enum loop_verdict leak_probes_tick(struct leak_probes *probes);

/* Releases, at the end of a report, processes that had exited by the end of the previous one. */
void leak_probes_release(struct leak_probes *probes);

void leak_probes_detach(struct leak_probes *probes);

/* Prints the windows' share of time, if any, at the end. */
void leak_probes_print(const struct leak_probes *probes);

#endif
