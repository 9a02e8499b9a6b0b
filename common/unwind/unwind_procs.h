/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The traced processes' mappings with their unwind rows: attached to the maps of the processes
 * (processes.h), and published as slices of one array that BPF reads (bpf/abi/unwind_layout.h). A
 * process's changed mappings are written into a new slice. The old slice is retired, and rests for
 * a while before its space is reused: a walk may still use it, and just-forked children may have
 * it.
 */
#ifndef UNWIND_PROCS_H
#define UNWIND_PROCS_H

#include <stdbool.h>
#include <sys/types.h>

#include "process/files.h"
#include "process/processes.h"
#include "unwind/unwind_tables.h"

struct unwind_procs;

/*
 * Creates the table of slices. processes: borrowed, must outlive it. mappings: borrowed array of
 * max_mappings elements.
 */
struct unwind_procs *unwind_procs_new(struct processes *processes, struct unwind_tables *tables,
				      struct unwind_mapping *mappings, uint32_t max_mappings);
void unwind_procs_free(struct unwind_procs *procs);

/*
 * Reads the process's mappings and compiles new files. Returns true, with the slice in *slice, if
 * the process has executable mappings: the caller publishes it. change: the caller's count of
 * changes, stored with the process.
 */
bool unwind_procs_update(struct unwind_procs *procs, pid_t pid, uint32_t change,
			 struct unwind_process *slice);

/*
 * Notes that BPF has dropped the slices retired up to now, which starts their waiting time. Their
 * space is not reused before it ends.
 */
void unwind_procs_begin_rests(struct unwind_procs *procs);

/*
 * Returns true if, by the areas that BPF has noted, code was replaced since the last update read
 * the mappings. Then the next update reads them again.
 */
bool unwind_procs_are_outdated(struct unwind_procs *procs, pid_t pid,
			       const struct unwind_change *change);

/*
 * Adds code that mremap(2) moved, which causes no event, to the table of processes. The last update
 * found its new mappings; they are valid from the time at which BPF noted the move.
 */
void unwind_procs_note_moves(struct unwind_procs *procs, pid_t pid,
			     const struct unwind_change *change);

/*
 * Handle process events. If mappings were already read after the event, because of a stack, they
 * are left alone, since BPF uses them. A child uses its parent's slice; an executed program has
 * none.
 */
void unwind_procs_fork(struct unwind_procs *procs, pid_t parent, pid_t child);
void unwind_procs_exec(struct unwind_procs *procs, pid_t pid);
void unwind_procs_exit(struct unwind_procs *procs, pid_t pid);

bool unwind_procs_knows(const struct unwind_procs *procs, pid_t pid);
bool unwind_procs_find(const struct unwind_procs *procs, pid_t pid, struct unwind_process *slice);

/* Mappings for a walk, valid until the next call of these functions. */
struct unwind_mappings {
	const struct unwind_mapping *items;
	size_t count; /* 0: unknown */
};

/* Return the published mappings, and the mappings at time_ns, recalled from events. */
struct unwind_mappings unwind_procs_published(struct unwind_procs *procs, pid_t pid);
struct unwind_mappings unwind_procs_recall(struct unwind_procs *procs, pid_t pid, uint64_t time_ns);

/* Statistics for -v. */
struct unwind_procs_stats {
	/* compiled files; those without rows, because memory ran out */
	size_t n_files, n_refused;
	size_t n_mappings; /* array elements in use, retired or resting */
};

struct unwind_procs_stats unwind_procs_stats(const struct unwind_procs *procs);

#endif
