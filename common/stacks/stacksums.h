/* SPDX-License-Identifier: GPL-2.0-only */
/* Counts by stack that were taken out of the kernel's tables before they were full. */
#ifndef STACKSUMS_H
#define STACKSUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/stack.h"

/* All zero: empty. */
struct stack_sums {
	struct stack_sums_item *items;
	size_t n;
	uint32_t *slots; /* index + 1; 0: free */
	size_t n_slots;
};

/* Adds to the sum of that key. */
void stack_sums_add(struct stack_sums *sums, const struct stack_key *key,
		    const struct stack_sum *sum);

/*
 * Merges entries of processes and threads that are gone: their ids become 0, and equal keys one
 * entry.
 */
void stack_sums_fold(struct stack_sums *sums, bool (*is_gone)(uint32_t id));

/* Returns the sum of that key; NULL: there is none. Valid until the next one is added. */
const struct stack_sum *stack_sums_find(const struct stack_sums *sums, const struct stack_key *key);

/* Calls visit for each key, in the order in which they came. */
void stack_sums_visit(const struct stack_sums *sums,
		      void (*visit)(const void *key, const void *sum, void *arg), void *arg);

/* Frees all it has. */
void stack_sums_clear(struct stack_sums *sums);

#endif
