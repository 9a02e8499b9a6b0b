/* SPDX-License-Identifier: GPL-2.0-only */
/* BPF maps from the loader's side, found by name in any tool's object. */
#ifndef BPFMAP_H
#define BPFMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "run/run.h"

/* Returns the map with this name; NULL: the tool doesn't use it. */
struct bpf_map *map_find(const struct run *run, const char *name);

/* Sets the contents of a settings section (".rodata.filter"), before load. 0 or -errno, printed. */
int map_set_settings(const struct run *run, const char *name, const void *value, size_t size);

/* Adds n entries to the map's declared size, before load. */
void map_add_entries(const struct run *run, const char *name, uint32_t n);

/* Keeps a map from being created; for maps that only dead code uses. Before load. */
void map_leave_out(const struct run *run, const char *name);

/*
 * Allocates a hash table's elements on demand, not all at load, if the kernel can. Failed
 * allocations count as a full map. An interrupt that adds several elements may fail: each CPU has a
 * reserve of one element (four up to 256 bytes), which is refilled after the interrupt.
 */
void map_fill_on_demand(struct run *run, const char *name);

/* Makes all tables allocate their elements at load, for programs that run in interrupts. */
void map_fill_at_load(struct run *run);

/* Returns the memory of an array with BPF_F_MMAPABLE, after load. NULL: failed, printed. */
void *map_memory(const struct run *run, const char *name);

/* Excludes a program from loading. */
void program_leave_out(const struct run *run, const char *name);

/*
 * Totals the first n 64-bit words of a per-CPU array's single element over all CPUs; all 0 if the
 * element can't be read.
 */
void map_sum_cpus(const struct run *run, const char *name, void *sums, size_t n);

typedef void map_visit_fn(const void *key, const void *value, void *arg);

/*
 * Calls visit for each element of a hash table, in batches. take: removes the elements (only for a
 * table that no program still uses). 0 or -errno, printed.
 */
int map_read(int fd, bool take, map_visit_fn *visit, void *arg);

/*
 * Calls visit for each wanted key of a hash table by pid. The keys are collected first, so that
 * visit may remove them.
 */
void map_visit_pids(int fd, bool (*is_wanted)(pid_t pid, void *arg),
		    void (*visit)(pid_t pid, void *arg), void *arg);

/*
 * Two tables used alternately. BPF finds the active one through an array of maps with one slot
 * ("NAMEs"; empty: the first table). The object contains the first ("NAME"); the second is made at
 * the first swap.
 */
struct map_pair {
	const char *slot, *first; /* names of maps: the array's and the first table's */
	int second_fd;		  /* descriptor of the second table; 0: not made yet */
	bool is_second_active;
};

/*
 * Before load: map_pair_configure() sets the tables' size, and leaves out the array unless they are
 * swapped (has_turns). map_pair_leave_out() leaves out the array and the first table.
 */
void map_pair_configure(struct run *run, const struct map_pair *pair, uint32_t entries,
			bool has_turns);
void map_pair_leave_out(const struct run *run, const struct map_pair *pair);

/*
 * Reads the table for a report. While tracing, the tables are swapped first: the kernel's update
 * returns when no program still uses the old table (synchronize_rcu() after the update of a map of
 * maps, kernel/bpf/syscall.c, maybe_wait_bpf_programs()). So the result is exact, and reading
 * empties the table for its next use. A peek reads the active table. 0 or -errno, printed.
 */
int map_pair_read(const struct run *run, struct map_pair *pair, map_visit_fn *visit, void *arg);

#endif
