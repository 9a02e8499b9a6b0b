/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tracks mapped memory as ranges of addresses: BPF sends changes in order, each of which may affect
 * several ranges, or parts of them. Address space without access is recorded as reserved, since
 * mprotect() may give access. Memory without a recorded stack, such as thread stacks, is in no
 * range.
 */
#ifndef RANGES_H
#define RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/memleak.h"

struct ranges;

/* Creates an empty set of at most `max` held ranges. Freed with ranges_free(). */
struct ranges *ranges_new(size_t max);
void ranges_free(struct ranges *ranges);

void ranges_change(struct ranges *ranges, const struct memleak_range *change);

/* Returns the bytes that were mapped beyond the maximum, which are in no range. */
uint64_t ranges_lost(const struct ranges *ranges);

/*
 * Calls visit for each held range, and is_kept for each reserved one; the range is removed if false
 * is returned. A range that was cut in two counts as two blocks.
 */
void ranges_visit(struct ranges *ranges,
		  bool (*visit)(uint64_t addr, const struct block *block, void *arg),
		  bool (*is_kept)(const struct block *block, void *arg), void *arg);

#endif
