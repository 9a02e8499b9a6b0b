/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The BPF maps for walks of user stacks (bpf/abi/unwind_layout.h), in the loader: their sizes and
 * memory, the shards that are made on demand and put into the map of shards, and the published
 * slice of each process.
 */
#ifndef UNWIND_MAPS_H
#define UNWIND_MAPS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "abi/unwind_layout.h"
#include "run/run.h"
#include "run/tool.h"
#include "unwind/unwind_procs.h"
#include "unwind/unwind_tables.h"

/* The options that say how user stacks are walked. */

struct unwind_options {
	const char *method; /* cfi, fp or auto, which is also NULL */
	uint64_t mem_bytes; /* for tables */
};

/* The stacks module does the rest. */
extern const struct module unwind_module;

const struct unwind_options *unwind_options_of(const struct run *run);

/*
 * Before load: makes the maps as large as the machine needs (n_processes: that it has now), or
 * leaves them out with the programs that keep them. 0 or -errno, printed.
 */
int unwind_maps_configure(struct run *run, bool by_cfi, size_t n_processes);

struct unwind_maps;

/* After load. NULL, printed, if the maps' memory can't be had. */
struct unwind_maps *unwind_maps_open(const struct run *run);
void unwind_maps_close(struct unwind_maps *maps);

/* Returns the tables whose memory the maps are. */
struct unwind_tables *unwind_maps_tables(const struct unwind_maps *maps);

/* Returns the array of mappings, with its size. */
struct unwind_mapping *unwind_maps_array(const struct unwind_maps *maps, uint32_t *n);

/*
 * Starts the thread that keeps the map of shards, and waits until it holds every shard. 0 or
 * -errno, printed.
 */
int unwind_maps_start(struct unwind_maps *maps);

/* Waits until it holds those that came since. */
void unwind_maps_wait(const struct unwind_maps *maps);

/*
 * Publishes the slice that the last update of the process gave. False: something has taken the
 * place of code since, of which BPF knew nothing; nothing is published then, BPF may still have a
 * former slice, and the next update reads the mappings again. allow_copies: what is missing in the
 * slice from now on is worth copies of the stack.
 */
bool unwind_maps_publish(struct unwind_maps *maps, struct unwind_procs *procs, pid_t pid,
			 const struct unwind_process *slice, bool allow_copies);

/*
 * Makes BPF read the size of the process's perf map from now on, with each stack of a process
 * whose names say so (UNWIND_HAS_PERF_MAP). The process has a copy of the descriptor until its end.
 */
bool unwind_maps_take_perf_map(const struct unwind_maps *maps, struct process *p, int map_fd);

/* The process has ended. */
void unwind_maps_withdraw(struct unwind_maps *maps, pid_t pid);

/*
 * Returns true if BPF walks the process's stacks by that slice, unless it has counted a change
 * since.
 */
bool unwind_maps_have(const struct unwind_maps *maps, pid_t pid,
		      const struct unwind_process *slice);

/* Removes the slice that BPF uses for the process, if it is another one than this: true. */
bool unwind_maps_take_other(struct unwind_maps *maps, pid_t pid,
			    const struct unwind_process *slice);

/* Visits the processes for which BPF has tables, some maybe twice; visit may remove the tables. */
void unwind_maps_visit(const struct unwind_maps *maps, bool (*is_wanted)(pid_t pid, void *arg),
		       void (*visit)(pid_t pid, void *arg), void *arg);

/*
 * Returns the count of changes that make a slice wrong (struct unwind_process). From the first
 * question on, execs count.
 */
uint32_t unwind_maps_changes(struct unwind_maps *maps, pid_t pid);

#endif
