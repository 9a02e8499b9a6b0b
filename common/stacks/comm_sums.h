/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which few programs something is most of: sums by comm, in a bounded table. When it is full, the
 * smaller half goes, so that a sum may be too low, but never too high.
 */
#ifndef COMM_SUMS_H
#define COMM_SUMS_H

#include <stddef.h>
#include <stdint.h>

#include "abi/filter.h"

#define COMM_SUMS_MAX 128

/* All zero at first. */
struct comm_sums {
	struct comm_sum {
		char comm[TASK_COMM_LEN];
		uint64_t value;
	} items[COMM_SUMS_MAX];
	size_t n;
};

/* comm: TASK_COMM_LEN bytes, with or without a 0 at their end. */
void comm_sums_add(struct comm_sums *sums, const char *comm, uint64_t value);
void comm_sums_merge(struct comm_sums *sums, const struct comm_sums *more);

/* Largest first. */
void comm_sums_sort(struct comm_sums *sums);

#endif
