/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Mapped memory that is held, as ranges of addresses: BPF sends each change in its order, and a
 * change may be about parts of ranges or about several. Address space without access is remembered,
 * as mprotect() may make it memory. Memory mapped without a recorded stack, such as thread stacks,
 * is in no range.
 */
#ifndef RANGES_H
#define RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/memleak.h"

struct ranges;

/* At most that many. */
struct ranges *ranges_new(size_t max);
void ranges_free(struct ranges *ranges);

void ranges_change(struct ranges *ranges, const struct memleak_range *change);

/* Returns the bytes that were mapped beyond the maximum, and are in no range. */
uint64_t ranges_lost(const struct ranges *ranges);

/*
 * Calls visit for each range that is held, and is_kept for each one that is only reserved: false
 * removes the range. A range that was cut in two counts as two blocks.
 */
void ranges_visit(struct ranges *ranges,
		  bool (*visit)(uint64_t addr, const struct block *block, void *arg),
		  bool (*is_kept)(const struct block *block, void *arg), void *arg);

#endif
