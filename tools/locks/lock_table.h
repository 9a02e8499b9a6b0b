/* SPDX-License-Identifier: GPL-2.0-only */
/* Totals of waits per lock, with who released it, as a table for people and as JSON. */
#ifndef LOCK_TABLE_H
#define LOCK_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "abi/locks.h"
#include "locks/lock_names.h"
#include "output/frames.h"

struct lock_table;

struct lock_table *lock_table_new(void);
void lock_table_free(struct lock_table *table);

/* kind: as in lock_kind_name(). Lock and kind must stay valid. */
void lock_table_add(struct lock_table *table, const struct lock_name *lock, const char *kind,
		    const struct lock_key *key, const struct lock_sum *sum);

/* Frames of a waker's stack, root first, up to max of them; returns their number. */
typedef size_t lock_stack_fn(const struct lock_name *lock, uint64_t waker_id,
			     const struct frame **frames, size_t max, void *arg);

/* How to print: stack NULL: without stacks. */
struct lock_style {
	lock_stack_fn *stack;
	void *arg;
};

/*
 * Longest total first. Times are nanoseconds; the table for people has microseconds. Locks with the
 * same name, such as those of one variable, are a line each.
 */
void lock_table_print(FILE *f, struct lock_table *table, const struct lock_style *style);
void lock_table_print_json(FILE *f, struct lock_table *table, const struct lock_style *style);

#endif
