/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Probes on the allocators of the traced processes. A process's mappings are searched for
 * allocators when it is first seen, and again whenever it has mapped more or executed another
 * program.
 */
#ifndef LEAK_PROBES_H
#define LEAK_PROBES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "memleak/allocators.h"
#include "probes/uprobes.h"
#include "run/run.h"

/*
 * Windows of time in which functions that allocate are probed. Between them they cost nothing; what
 * gives memory back is probed all the time, so that blocks of the windows are followed to their
 * end. A block that is moved counts by its last move: so each has the same chance, however often it
 * was moved. Gaps have random lengths, or a program that does something every second would always,
 * or never, be met.
 */

struct leak_windows;
struct window_part;

/*
 * Makes windows for a share of the time. Free with leak_windows_free(), once all parts are dropped.
 */
struct leak_windows *leak_windows_new(const struct run *run, uint32_t percent);
void leak_windows_free(struct leak_windows *windows);

/* After load: the first gap begins. 0 or -errno, printed. */
int leak_windows_begin(struct leak_windows *windows);

/* Prints the windows' share of the time. */
void leak_windows_print(const struct leak_windows *windows);

struct leak_probes;

/*
 * Before load: chooses how to attach. for_all: a file is probed for every process that maps it, so
 * that children are traced from their first instruction on; BPF leaves out the processes that are
 * not traced. by_thread: processes without a main thread can be probed, too. windows: when
 * functions that only allocate are probed; NULL: always. It remains the caller's. NULL, printed,
 * where the kernel can't do it; free with leak_probes_free().
 */
struct leak_probes *leak_probes_new(const struct uprobes_programs *programs,
				    const struct allocators_request *request, bool for_all,
				    bool by_thread, struct leak_windows *windows);
void leak_probes_free(struct leak_probes *probes);

/*
 * Searches a process's mappings and probes new functions. 0, also if there are none (see
 * leak_probes_count()); -errno if new ones can't be searched or probed.
 */
int leak_probes_add(struct leak_probes *probes, pid_t pid);

/* Returns a process whose probes vanished with the thread that they were bound to; 0: none. */
pid_t leak_probes_lost(const struct leak_probes *probes);

/* Returns true if a function was found in the process or, with for_all, in any. */
bool leak_probes_found(const struct leak_probes *probes, pid_t pid);

/* Returns true if the process was added. */
bool leak_probes_has(const struct leak_probes *probes, pid_t pid);

/* Returns the process's name when it was last searched; NULL: not added. */
const char *leak_probes_comm(const struct leak_probes *probes, pid_t pid);

/* Returns the id of its cgroup at that time; 0: unknown. */
uint64_t leak_probes_cgroup(const struct leak_probes *probes, pid_t pid);

/* Returns the number of probed functions. */
size_t leak_probes_count(const struct leak_probes *probes);

/* Notes that a process has exited: files that it alone had mapped are to be released. */
void leak_probes_end(struct leak_probes *probes, pid_t pid);

/*
 * Called every few seconds: removes the probes from files that no process has mapped, neither now
 * nor in the last call, since they keep the disk space of a deleted file.
 */
void leak_probes_release_files(struct leak_probes *probes);

/*
 * Called several times a second: closes some of their links, each of which may take the kernel
 * 50 ms. The rings are read in between, which can't wait for all of them.
 */
void leak_probes_close_some(struct leak_probes *probes);

/* Ends a report: releases the processes that had exited when the report before it was done. */
void leak_probes_release(struct leak_probes *probes);

void leak_probes_detach(struct leak_probes *probes);

#endif
