/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The traced processes' mappings with their unwind rows: hung on the maps that the processes have
 * (processes.h), and published as slices of one array that BPF reads (bpf/abi/unwind_layout.h). A
 * new state of a process is written into a new slice; the old one is retired, and rests for a while
 * before its place is used again: a walk may still be in it, and children just forked may have it.
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
 * The table of processes has to outlive this. mappings: memory for max_mappings elements, which
 * stays the caller's.
 */
struct unwind_procs *unwind_procs_new(struct processes *processes, struct unwind_tables *tables,
				      struct unwind_mapping *mappings, uint32_t max_mappings);
void unwind_procs_free(struct unwind_procs *procs);

/*
 * Looks at the process's mappings and compiles what is new. True, with the slice in *slice, if it
 * has any: then the caller publishes it. change is the caller's, and stored with the process.
 */
bool unwind_procs_update(struct unwind_procs *procs, pid_t pid, uint32_t change,
			 struct unwind_process *slice);

/*
 * Notes that BPF has dropped the slices retired up to now: their waiting time begins. Their space
 * is not reused before that ends.
 */
void unwind_procs_begin_rests(struct unwind_procs *procs);

/*
 * Returns true if code was replaced since the last update looked, by the areas that BPF has noted.
 * Then the next update reads the mappings again.
 */
bool unwind_procs_are_outdated(struct unwind_procs *procs, pid_t pid,
			       const struct unwind_change *change);

/*
 * Enters into the table of processes mappings that the last update found at an address and no event
 * reports: code that mremap(2) has moved, since the time that BPF has noted. To be called after it.
 */
void unwind_procs_note_moves(struct unwind_procs *procs, pid_t pid,
			     const struct unwind_change *change);

/*
 * Handle events, maybe after a stack has made the process looked at: mappings read since are left
 * alone, since BPF uses them. The child uses its parent's slice; a program that is executed has
 * none.
 */
void unwind_procs_fork(struct unwind_procs *procs, pid_t parent, pid_t child);
void unwind_procs_exec(struct unwind_procs *procs, pid_t pid);
void unwind_procs_exit(struct unwind_procs *procs, pid_t pid);

bool unwind_procs_knows(const struct unwind_procs *procs, pid_t pid);
bool unwind_procs_find(const struct unwind_procs *procs, pid_t pid, struct unwind_process *slice);

/* Mappings to walk by, valid until the next call of these functions. */
struct unwind_mappings {
	const struct unwind_mapping *items;
	size_t count; /* 0: unknown */
};

/* Return the published mappings, and those at that time, from events. */
struct unwind_mappings unwind_procs_published(struct unwind_procs *procs, pid_t pid);
struct unwind_mappings unwind_procs_recall(struct unwind_procs *procs, pid_t pid, uint64_t time_ns);

/* For -v. */
struct unwind_procs_stats {
	/* compiled; of these, without rows because memory ran out */
	size_t n_files, n_refused;
	size_t n_mappings; /* mappings of the array in use, retired or resting */
};

struct unwind_procs_stats unwind_procs_stats(const struct unwind_procs *procs);

#endif
