/* SPDX-License-Identifier: GPL-2.0-only */
/* From values by stack (struct stack_key) to a profile: ids become frames, numbers become words. */
#ifndef STACK_PROFILE_H
#define STACK_PROFILE_H

#include "abi/unwind_layout.h"
#include "output/name_filter.h"
#include "process/cgroups.h"
#include "stacks/comm_sums.h"
#include "stacks/left_out.h"
#include "stacks/process_flaws.h"
#include "stacks/stackdefs.h"
#include "stacks/stacks_spec.h"

/* Values of user stacks by how their walk ended. */
struct stack_reasons {
	uint64_t values[UNWIND_REASONS];
	struct comm_sums incomplete;
	uint64_t go, go_idle; /* of threads of Go programs; of those without work */
	uint64_t python,
		python_bare; /* of Python programs; of those that lack some of their functions */
};

struct stack_profile {
	const struct stacks_spec *spec;
	struct stackdefs *defs;
	struct profile *profile;
	bool without_kernel;	    /* kernel frames are not shown */
	bool by_process;	    /* pids are: else what processes have in common is one */
	struct cgroups *cgroups;    /* NULL: not by cgroup */
	unsigned int hidden_remark; /* values with it are left out; 0: none */
	struct name_filter *names;  /* which stacks are shown */
	bool folds_idle;	    /* waits at rest become [idle] */
	struct left_out left_out;
	struct stack_reasons reasons;
	struct process_flaws *flaws; /* NULL: they were counted before */
	uint64_t undefined;	     /* value of stacks whose definition never arrived */

	/* More definitions may have come. */
	void (*read_definitions)(void *arg);
	void *arg;
};

/* Adds a value; a map_visit_fn is made of it by those who know where the value comes from. */
void stack_profile_add(struct stack_profile *p, const struct stack_key *key,
		       const struct stacks_value *value);

/*
 * Prints "user stacks: 99.50 % complete, 0.50 % through code without unwind information", and which
 * one or two programs have most of what isn't complete.
 */
void stack_reasons_print(struct stack_reasons *reasons);

/* Prints that waits of Go programs are their threads', not their goroutines', if there were any. */
void stack_reasons_print_go(const struct stack_reasons *reasons);

/* Prints how many stacks of Python programs have all of their functions, if there were any. */
void stack_reasons_print_python(const struct stack_reasons *reasons);
void stack_reasons_add(struct stack_reasons *sum, const struct stack_reasons *more);

#endif
