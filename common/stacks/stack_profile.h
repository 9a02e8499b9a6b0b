/* SPDX-License-Identifier: GPL-2.0-only */
/* Converts values by stack (struct stack_key) to a profile: ids to frames, numbers to text. */
#ifndef STACK_PROFILE_H
#define STACK_PROFILE_H

#include <stddef.h>
#include <stdint.h>

#include "abi/filter.h"
#include "abi/unwind_layout.h"
#include "output/name_filter.h"
#include "process/cgroups.h"
#include "stacks/stack_flaws.h"
#include "stacks/resolver.h"
#include "stacks/stacks_spec.h"

/* Totals of values, in BPF's unit, with those that a report drops on request. */
struct left_out {
	uint64_t all;	    /* all values, shown or dropped */
	uint64_t by_remark; /* dropped by remark, such as [blocked throughout] by -x */
	uint64_t by_name;   /* dropped by --only and --without */
	uint64_t idle;	    /* shown as [idle] (--no-idle), a part of the shown values */
};

void left_out_add(struct left_out *sum, const struct left_out *more);

/* Prints the nonzero totals, divided by divisor to unit. remark: the subject of by_remark. */
void left_out_print(const struct left_out *sums, uint64_t divisor, const char *unit,
		    const char *remark);

/*
 * The programs with the largest totals, per comm, in a bounded table. When it is full, the smaller
 * half is dropped, so a total may be too low, but never too high.
 */

#define COMM_SUMS_MAX 128

/* All zero: empty. */
struct comm_sums {
	struct comm_sum {
		char comm[TASK_COMM_LEN];
		uint64_t value;
	} items[COMM_SUMS_MAX];
	size_t n;
};

/* Add to totals. comm: TASK_COMM_LEN bytes, with or without a terminating 0. */
void comm_sums_add(struct comm_sums *sums, const char *comm, uint64_t value);
void comm_sums_merge(struct comm_sums *sums, const struct comm_sums *more);

/* Sorts the totals, largest first. */
void comm_sums_sort(struct comm_sums *sums);

/* Values of user stacks, by how their walk ended. */
struct stack_reasons {
	uint64_t values[UNWIND_REASONS];
	struct comm_sums incomplete;
	uint64_t go, go_idle;	/* Go programs' threads: all, and idle ones */
	uint64_t goroutines;	/* waits of goroutines (they are not threads) */
	uint64_t managed, bare; /* programs with a runtime: all; those that lack functions */
};

struct stack_profile {
	const struct stacks_spec *spec;
	struct resolver *resolver;
	struct profile *profile;
	bool without_kernel; /* kernel frames are omitted */
	/* pids are distinguished; false: equal stacks of processes are merged */
	bool by_process;
	struct cgroups *cgroups;    /* NULL: samples have no cgroup */
	unsigned int hidden_remark; /* values with this remark are dropped; 0: none */
	struct name_filter *names;  /* selects the shown stacks */
	bool folds_idle;	    /* idle waits become [idle] */
	struct left_out left_out;
	struct stack_reasons reasons;
	struct stack_flaws *flaws; /* receives flaws; NULL: already counted */
	uint64_t undefined;	   /* value of stacks without a definition */

	/* called if a definition is missing: reads new ones */
	void (*read_definitions)(void *arg);
	void *arg;
};

/*
 * Adds a value to the profile. Returns its sample; NULL: it is not shown. Callers wrap this in a
 * map_visit_fn.
 */
const struct sample *stack_profile_add(struct stack_profile *p, const struct stack_key *key,
				       const struct stacks_value *value);

/* A state of events that have time. */
struct event_state {
	const char *name; /* what --only and --without match in place of the remark */
	bool is_awake;	  /* after the end of a wait: not idle */
	bool is_run;	  /* has a sample even if hidden: a run is divided among all samples */
	bool is_hidden;	  /* set: --only or --without omit it */
};

/* Adds the value of events in this state; NULL: they have no state, only a remark. */
const struct sample *stack_profile_add_events(struct stack_profile *p, const struct stack_key *key,
					      const struct stacks_value *value,
					      struct event_state *state);

/*
 * Prints "user stacks: 99.50 % complete, 0.50 % through code without unwind information", and the
 * one or two programs with most of the incomplete stacks.
 */
void stack_reasons_print(struct stack_reasons *reasons);

/* Returns the percentage of complete user stacks; false: there were none. */
bool stack_reasons_complete(const struct stack_reasons *reasons, double *percent);

/* Prints that blocked goroutines are not shown, if there were Go programs and none is. */
void stack_reasons_print_go(const struct stack_reasons *reasons);

/* Prints the share of runtimes' programs' stacks that have all functions, if there were any. */
void stack_reasons_print_functions(const struct stack_reasons *reasons);
void stack_reasons_add(struct stack_reasons *sum, const struct stack_reasons *more);

#endif
