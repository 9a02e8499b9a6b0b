/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The BPF maps for walks of user stacks (bpf/abi/unwind_layout.h) in the loader: their sizes and
 * memory, the shards that are created on demand and put into the map of shards, and the published
 * slice of each process.
 */
#ifndef UNWIND_MAPS_H
#define UNWIND_MAPS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "abi/unwind_layout.h"
#include "run/run.h"
#include "unwind/unwind_procs.h"
#include "unwind/unwind_tables.h"

/* Options for walking user stacks. */

struct unwind_options {
	const char *method; /* cfi, fp or auto; NULL: auto */
	uint64_t mem_bytes; /* limit for unwind tables, in bytes */
};

/* The options only; the stacks module uses them. */
extern const struct module unwind_module;

const struct unwind_options *unwind_options_of(const struct run *run);

/*
 * Sizes the maps for the machine, which has n_processes now, or leaves out the maps and their
 * programs without by_cfi. Called before load. Returns 0 or -errno, printed.
 */
int unwind_maps_configure(struct run *run, bool by_cfi, size_t n_processes);

struct unwind_maps;

/* Opens the maps after load. NULL: failed, printed. */
struct unwind_maps *unwind_maps_open(const struct run *run);
void unwind_maps_close(struct unwind_maps *maps);

/* Returns the tables that are stored in the maps. */
struct unwind_tables *unwind_maps_tables(const struct unwind_maps *maps);

/* Returns the array of mappings, with its capacity in *n. */
struct unwind_mapping *unwind_maps_array(const struct unwind_maps *maps, uint32_t *n);

/*
 * Starts the thread that updates the map of shards, and waits until the map contains every shard.
 * Returns 0 or -errno, printed.
 */
int unwind_maps_start(struct unwind_maps *maps);

/* Waits until the map of shards contains all shards created since. */
void unwind_maps_wait(const struct unwind_maps *maps);

/*
 * Publishes the slice from the last update of the process. False: code was replaced since, which
 * BPF did not notice: nothing is published, BPF may still have a former slice, and the next update
 * reads the mappings again. allow_copies: BPF may copy further stacks that the slice can't walk.
 */
bool unwind_maps_publish(struct unwind_maps *maps, struct unwind_procs *procs, pid_t pid,
			 const struct unwind_process *slice, bool allow_copies);

/*
 * Makes BPF read the size of the process's perf map from now on, with each stack if the process's
 * names contain UNWIND_HAS_PERF_MAP. The process owns a duplicate of the descriptor until its end.
 */
bool unwind_maps_take_perf_map(const struct unwind_maps *maps, struct process *p, int map_fd);

/* Removes a process that has ended. */
void unwind_maps_withdraw(struct unwind_maps *maps, pid_t pid);

/* Returns true if BPF uses this slice for the process, unless it has counted a change since. */
bool unwind_maps_have(const struct unwind_maps *maps, pid_t pid,
		      const struct unwind_process *slice);

/* Removes the slice that BPF uses for the process, unless it is this one. True: removed. */
bool unwind_maps_take_other(struct unwind_maps *maps, pid_t pid,
			    const struct unwind_process *slice);

/* Visits the processes with tables in BPF, some perhaps twice; visit() may remove the tables. */
void unwind_maps_visit(const struct unwind_maps *maps, bool (*is_wanted)(pid_t pid, void *arg),
		       void (*visit)(pid_t pid, void *arg), void *arg);

/*
 * Returns the number of changes that invalidate a slice (struct unwind_process). From the first
 * call on, execs count, too.
 */
uint32_t unwind_maps_changes(struct unwind_maps *maps, pid_t pid);

#endif
