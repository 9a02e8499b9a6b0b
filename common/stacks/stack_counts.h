/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The counts by stack that BPF collects (stack_count()): two tables used alternately, drained for
 * each report and whenever one is half full.
 */
#ifndef STACK_COUNTS_H
#define STACK_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/stack.h"
#include "run/bpfmap.h"
#include "stacks/stack_flaws.h"
#include "stacks/resolver.h"
#include "stacks/stacks_spec.h"

/* Counts by stack that were taken out of the kernel's tables before they were full. */

/* All zero: empty. */
struct stack_sums {
	struct stack_sums_item *items;
	size_t n;
	uint32_t *slots; /* index + 1; 0: free */
	size_t n_slots;
};

/* Adds to the total of that key. */
void stack_sums_add(struct stack_sums *sums, const struct stack_key *key,
		    const struct stack_sum *sum);

/*
 * Merges entries of processes and threads that are gone: their ids become 0, and equal keys one
 * entry.
 */
void stack_sums_fold(struct stack_sums *sums, bool (*is_gone)(uint32_t id));

/* Returns the total of that key; NULL: none. Valid until the next one is added. */
const struct stack_sum *stack_sums_find(const struct stack_sums *sums, const struct stack_key *key);

/* Calls visit for each key, in the order in which they came. */
void stack_sums_visit(const struct stack_sums *sums,
		      void (*visit)(const void *key, const void *sum, void *arg), void *arg);

/* Frees all it has. */
void stack_sums_clear(struct stack_sums *sums);

struct stack_counts {
	struct map_pair tables;
	uint32_t size;		    /* capacity in stacks */
	struct stack_sums gathered; /* totals drained since the last report */
	size_t n_folded;	    /* number of totals after pids were last merged */
	uint64_t n_gathered;	    /* stacks added to the tables by then */
	uint64_t n_reported;	    /* ... by the report being made */
	bool has_folded;	    /* printed */
	/* an error was printed: tables are not drained early any more */
	bool has_failed;
	bool has_forgotten; /* ids, in this turn */
	struct resolver *resolver;
	struct stack_flaws *flaws;   /* gets values of pids that the counts drop; borrowed */
	struct stack_sent_set *sent; /* BPF's memory */
	/* BPF's count of stacks added to the tables so far; borrowed */
	const uint64_t *added;
	bool by_process; /* otherwise equal stacks of processes are merged */
	bool by_thread;	 /* keys distinguish threads */
};

#define STACK_COUNTS_DEFAULTS                                                              \
	{                                                                                  \
		.size = 65536, .tables = {.slot = "stack_tables", .first = "stack_table" } \
	}

/* Before load. */
void stack_counts_configure(struct run *run, const struct stack_counts *counts);
void stack_counts_leave_out(const struct run *run, const struct stack_counts *counts);

/*
 * After load. resolver: where the stacks are defined. The caller sets by_process where the report
 * shows pids, and by_thread. 0 or -errno, printed.
 */
int stack_counts_start(const struct run *run, struct stack_counts *counts,
		       struct resolver *resolver);

/*
 * Retains the definitions of the key's stacks, since something is counted under them. If that is 0,
 * BPF has their ids for later.
 */
void stack_counts_use(const struct stack_counts *counts, const struct stack_key *key);

/* Drains the counts when the table is half full: meanwhile, BPF uses the other table. */
void stack_counts_gather(const struct run *run, struct stack_counts *counts);

/*
 * For a report: adds all counts to *sums, empty before and cleared by the caller, each stack once.
 * 0 or -errno, printed. stack_counts_end() starts the next report from 0, unless this is a peek.
 */
int stack_counts_read(const struct run *run, struct stack_counts *counts, struct stack_sums *sums);
void stack_counts_end(const struct run *run, struct stack_counts *counts);

void stack_counts_free(struct stack_counts *counts);

#endif
