/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The traced processes' mappings, as slices of one array that BPF reads (bpf/abi/unwind_layout.h). A new
 * state of a process is written into a new slice; the old one rests for a while before its place is
 * used again, since a walk may still be in it, and children may have taken it over.
 */
#ifndef UNWIND_PROCS_H
#define UNWIND_PROCS_H

#include <stdbool.h>
#include <sys/types.h>

#include "unwind/unwind_files.h"

struct unwind_procs;
struct mapslog;

/* mappings: memory for max_mappings elements. */
struct unwind_procs *unwind_procs_new(struct unwind_files *files, struct unwind_mapping *mappings,
				      uint32_t max_mappings);
void unwind_procs_free(struct unwind_procs *procs);

/* Whom to ask for mappings first; NULL, as in the beginning: /proc. Stays the caller's. */
void unwind_procs_set_log(struct unwind_procs *procs, struct mapslog *log);

/*
 * Reads the process's mappings and compiles what is new. True, with the slice in *slice, if it has
 * any: then the caller publishes it. slice->change is the caller's, and kept with the slice.
 */
bool unwind_procs_update(struct unwind_procs *procs, pid_t pid, struct unwind_process *slice);

/* The child uses its parent's slice. */
void unwind_procs_fork(struct unwind_procs *procs, pid_t parent, pid_t child);
void unwind_procs_exit(struct unwind_procs *procs, pid_t pid);

bool unwind_procs_knows(const struct unwind_procs *procs, pid_t pid);

/* The process's slice; false if it isn't known. */
bool unwind_procs_find(const struct unwind_procs *procs, pid_t pid, struct unwind_process *slice);

/*
 * The mappings that a process had at that time, by the log: how many, with the first in *mappings,
 * valid until the next call. 0: not known.
 */
size_t unwind_procs_recall(struct unwind_procs *procs, pid_t pid, uint64_t time_ns,
			   const struct unwind_mapping **mappings);

void unwind_procs_count(const struct unwind_procs *procs, size_t *n_processes, size_t *n_mappings);

#endif
