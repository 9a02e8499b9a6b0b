/* SPDX-License-Identifier: GPL-2.0-only */
/* BPF maps from the loader's side, found by name in any tool's object. */
#ifndef BPFMAP_H
#define BPFMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "run/run.h"

/* Returns the map of that name, or NULL: the tool doesn't use it. */
struct bpf_map *map_find(const struct run *run, const char *name);

/* Fills the settings section of that name (".rodata.filter") before load. 0 or -errno, printed. */
int map_set_settings(const struct run *run, const char *name, const void *value, size_t size);

/* Makes a map larger by n entries than the object declares. */
void map_add_entries(const struct run *run, const char *name, uint32_t n);

/* Leaves a map out of the object where the program's code for it is dead. */
void map_leave_out(const struct run *run, const char *name);

/*
 * Allocates a hash table's elements on demand, not all at load, if the kernel can. Failed
 * allocations count as a full map. They fail in an interrupt that makes several elements: a CPU has
 * a reserve of one (of four up to 256 bytes), which is refilled after the interrupt.
 */
void map_fill_on_demand(struct run *run, const char *name);

/* Has all tables allocate their elements at load, for programs that run in interrupts. */
void map_fill_at_load(struct run *run);

/* Returns the memory of an array with BPF_F_MMAPABLE, after load. NULL, printed. */
void *map_memory(const struct run *run, const char *name);

/* Keeps a program that isn't needed from being loaded. */
void program_leave_out(const struct run *run, const char *name);

/*
 * Totals over all CPUs the first n 64-bit words of a per-CPU array's one element; all 0 if it can't
 * be read.
 */
void map_sum_cpus(const struct run *run, const char *name, void *sums, size_t n);

typedef void map_visit_fn(const void *key, const void *value, void *arg);

/*
 * Calls visit for each element of a hash table, in batches, and removes them if `take` is set (only
 * for a table that no program uses any more). 0 or -errno, printed.
 */
int map_read(int fd, bool take, map_visit_fn *visit, void *arg);

/*
 * Calls visit for each wanted key of a hash table by pid. The keys are collected first, so that
 * visit may remove them.
 */
void map_visit_pids(int fd, bool (*is_wanted)(pid_t pid, void *arg),
		    void (*visit)(pid_t pid, void *arg), void *arg);

/*
 * A table that BPF finds through an array of maps with one slot ("NAMEs"; empty: the first), of two
 * that alternate. The first is in the object ("NAME"), the second is made when its turn comes.
 */
struct map_pair {
	const char *slot, *first; /* the maps' names */
	int second_fd;		  /* 0: not made yet */
	bool is_second_active;
};

/*
 * Before load: how large the tables are. Leaves out the tables, or only the second one, if not
 * needed.
 */
void map_pair_configure(struct run *run, const struct map_pair *pair, uint32_t entries,
			bool has_turns);
void map_pair_leave_out(const struct run *run, const struct map_pair *pair);

/*
 * Reads the table for a report. While tracing, the tables are swapped first: the kernel returns
 * when no program uses the old one any more (synchronize_rcu() after the update of a map of maps,
 * kernel/bpf/syscall.c, maybe_wait_bpf_programs()), so what is read is exact, and the table is
 * empty when its turn comes again. A peek reads the table in use. 0 or -errno, printed.
 */
int map_pair_read(const struct run *run, struct map_pair *pair, map_visit_fn *visit, void *arg);

#endif
