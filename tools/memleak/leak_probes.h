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
#include <sys/types.h>

#include "memleak/allocators.h"
#include "memleak/leak_windows.h"
#include "probes/uprobes.h"

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
 * Searches a process's mappings and probes what is new there. 0, also if there is nothing new (see
 * leak_probes_count()); -errno if what is new can't be searched or probed.
 */
int leak_probes_add(struct leak_probes *probes, pid_t pid);

/* A process whose probes are gone with the thread that they were bound to; 0: there is none. */
pid_t leak_probes_lost(const struct leak_probes *probes);

/* Returns true if a function was found in the process or, with for_all, in any. */
bool leak_probes_found(const struct leak_probes *probes, pid_t pid);

/* Returns true if the process was added. */
bool leak_probes_has(const struct leak_probes *probes, pid_t pid);

/* The process's name when it was last searched; NULL if it was not added. */
const char *leak_probes_comm(const struct leak_probes *probes, pid_t pid);

/* Returns the id of the cgroup that it was in then; 0: unknown. */
uint64_t leak_probes_cgroup(const struct leak_probes *probes, pid_t pid);

/* Returns the number of probed functions. */
size_t leak_probes_count(const struct leak_probes *probes);

/* Notes that a process has exited: files that it alone had mapped are to be released. */
void leak_probes_end(struct leak_probes *probes, pid_t pid);

/*
 * To be called every few seconds: takes the probes out of files that no process had mapped, neither
 * now nor in the last call, since they keep the disk space of a deleted file.
 */
void leak_probes_release_files(struct leak_probes *probes);

/* Ends a report: releases the processes that had exited before the report before it. */
void leak_probes_release(struct leak_probes *probes);

void leak_probes_detach(struct leak_probes *probes);

#endif
