/* SPDX-License-Identifier: GPL-2.0-only */
/* Totals of waits per lock, with the threads that released it, as text and as JSON. */
#ifndef LOCK_TABLE_H
#define LOCK_TABLE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "abi/locks.h"
#include "modules/lock_names.h"
#include "output/frames.h"

struct lock_table;

struct lock_table *lock_table_new(void);
void lock_table_free(struct lock_table *table);

/* Adds a count. kind: from lock_kind_name(). Borrows lock and kind. */
void lock_table_add(struct lock_table *table, const struct lock_name *lock, const char *kind,
		    const struct lock_key *key, const struct lock_sum *sum);

/* Writes up to max frames of a waker's stack, root first; returns their number. */
typedef size_t lock_stack_fn(const struct lock_name *lock, uint64_t waker_id,
			     const struct frame **frames, size_t max, void *arg);

/* How to print wakers; stack NULL: without stacks. */
struct lock_style {
	lock_stack_fn *stack;
	void *arg;
};

/*
 * Print the locks, longest total first; times in us in text, in ns in JSON. Locks with the same
 * name, such as those of one variable, have a line each.
 */
void lock_table_print(FILE *f, struct lock_table *table, const struct lock_style *style);
void lock_table_print_json(FILE *f, struct lock_table *table, const struct lock_style *style);

#endif
