/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counts by stack, collected by BPF (stack_count()) in two tables used alternately, drained for
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

/* Hash table of counts drained from the kernel's tables. All zero: empty. */
struct stack_sums {
	struct stack_sums_item *items;
	size_t n;
	uint32_t *slots; /* index + 1; 0: free */
	size_t n_slots;
};

/* Adds sum to the total of a key. Returns the key's number: stack_sums_visit() begins with 0. */
size_t stack_sums_add(struct stack_sums *sums, const struct stack_key *key,
		      const struct stack_sum *sum);

/*
 * Merges the totals of processes and threads that are gone: their ids become 0, and equal keys one
 * entry.
 */
void stack_sums_fold(struct stack_sums *sums, bool (*is_gone)(uint32_t id));

/* Returns the total of a key; NULL: none. Valid until the next addition. */
const struct stack_sum *stack_sums_find(const struct stack_sums *sums, const struct stack_key *key);

/* Calls visit for each key, in the order of their first addition. */
void stack_sums_visit(const struct stack_sums *sums,
		      void (*visit)(const void *key, const void *sum, void *arg), void *arg);

void stack_sums_clear(struct stack_sums *sums);

/* Single counts since the last report; the oldest are dropped if they are too many. */
struct stack_events {
	struct event *list; /* ordered about by time; their keys are numbers in the totals */
	size_t n;
	uint64_t cut_ns, cut_value; /* latest time and total value of dropped events */
	uint64_t n_keys;	    /* number of keys added to the totals so far */
};

struct stack_counts {
	struct map_pair tables;
	uint32_t size;		    /* capacity of each table, in stacks */
	struct stack_sums gathered; /* totals drained since the last report */
	size_t n_folded;	    /* gathered.n after the last merge; 0: none yet */
	uint64_t n_gathered;	    /* value of *added when gathered was last drained */
	uint64_t n_reported;	    /* value of *added at the start of the current report */
	bool has_folded;	    /* the merge of totals was reported */
	/* reading failed, which was printed: no more early drains */
	bool has_failed;
	bool has_forgotten; /* ids were released since the last drain */
	struct resolver *resolver;
	struct stack_flaws *flaws;   /* counts flaws before pids are dropped from keys; borrowed */
	struct stack_sent_set *sent; /* BPF's memory of ids that were sent */
	/* BPF's count of added stacks; borrowed */
	const uint64_t *added;
	bool by_process; /* keys distinguish processes; otherwise their equal stacks are merged */
	bool by_thread;	 /* keys distinguish threads */
	bool in_time;	 /* BPF sends each count as an event and has no tables */
	struct stack_events events;
};

#define STACK_COUNTS_DEFAULTS                                                              \
	{                                                                                  \
		.size = 65536, .tables = {.slot = "stack_tables", .first = "stack_table" } \
	}

/* Set the capacity of the tables, or leave them out, before load; in_time: there are none. */
void stack_counts_configure(struct run *run, const struct stack_counts *counts);
void stack_counts_leave_out(const struct run *run, const struct stack_counts *counts);

/* Adds, between reports, a count that doesn't come from BPF. */
void stack_counts_add(struct stack_counts *counts, const struct stack_key *key,
		      const struct stack_sum *sum);

/* Adds a count that BPF has sent with its time. */
void stack_counts_add_event(struct stack_counts *counts, const struct stack_event *event);

/*
 * Opens the tables after load. resolver: borrowed; defines the stacks. The caller sets by_process
 * if the report shows pids, and by_thread. Returns 0 or -errno, printed.
 */
int stack_counts_start(const struct run *run, struct stack_counts *counts,
		       struct resolver *resolver);

/*
 * Retains the definitions of the key's stacks, under which something is counted, or may be later
 * (value 0: BPF has their ids).
 */
void stack_counts_use(const struct stack_counts *counts, const struct stack_key *key);

/* Retains the stacks of gathered counts through the next release (resolver_retain()). */
void stack_counts_retain(const struct stack_counts *counts);

/*
 * Drains the counts if the table is half full, while BPF uses the other table; not while a report
 * is being made.
 */
void stack_counts_gather(const struct run *run, struct stack_counts *counts);

/*
 * Adds all counts for a report to *sums, which is empty before and cleared by the caller; each
 * stack once. Unless this is a peek, moves the events to *events, whose list the caller frees:
 * later ones belong to the next report. Returns 0 or -errno, printed. stack_counts_end() starts the
 * next report from 0, unless this is a peek.
 */
int stack_counts_read(const struct run *run, struct stack_counts *counts, struct stack_sums *sums,
		      struct stack_events *events);
void stack_counts_end(const struct run *run, struct stack_counts *counts);

void stack_counts_free(struct stack_counts *counts);

#endif
