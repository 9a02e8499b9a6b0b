/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads live blocks from the table that BPF programs write (bpf/abi/block.h), totals them per
 * allocation stack, and finds growing totals.
 */
#ifndef BLOCKS_H
#define BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "abi/block.h"
#include "base/idmap.h"

/* Fill level in percent up to which blocks find a cell: see the unit test. */
#define BLOCKS_FILL_PERCENT 70

/* Returns the number of buckets, a power of two, for n_blocks blocks. */
size_t blocks_buckets_for(size_t n_blocks);

/* Returns n_buckets, a power of two, halved until the table takes at most max_bytes; at least 1. */
size_t blocks_buckets_within(size_t n_buckets, uint64_t max_bytes);

/* Returns the capacity of the buckets in blocks. */
static inline size_t blocks_in_buckets(size_t n_buckets)
{
	return n_buckets * BLOCK_WAYS * BLOCKS_FILL_PERCENT / 100;
}

/*
 * Calls visit for each block. A block that is being changed is visited before or after the change,
 * or skipped. If visit returns false, the block is removed.
 */
void blocks_visit(struct block_bucket *buckets, size_t n_buckets,
		  bool (*visit)(uint64_t addr, const struct block *block, void *arg), void *arg);

/* Returns the age of a block at now_ns, in ms. */
uint64_t block_age_ms(const struct block *block, uint64_t now_ns);

/* Blocks of one stack. */
struct block_sum {
	uint64_t id;	   /* id of the total, never 0 */
	uint64_t stack_id; /* 0: no stack */
	pid_t tgid;
	uint64_t bytes, count;
	uint64_t oldest_ms, youngest_ms; /* 0 and UINT64_MAX: unknown */
	/* if sampled: number of samples from which bytes and count are estimated */
	uint64_t n_samples;
	uint64_t alloc_bytes, alloc_count; /* if sampled: including freed blocks; else 0 */
	bool is_sampled;		   /* from a heap profile, not from the block table */
};

/* Totals; all zero: none. */
struct block_sums {
	struct idmap by_id;
	struct block_sum **items;
	size_t count, cap;
};

void block_sums_clear(struct block_sums *sums);
const struct block_sum *block_sums_add(struct block_sums *sums, const struct block *block,
				       uint64_t now_ns);

/* Adds a sampled total to that of the same stack; `more` needs no id and no ages. */
void block_sums_add_sampled(struct block_sums *sums, const struct block_sum *more);

/* Creates the total of a block's stack, which may be 0. */
void block_sums_mention(struct block_sums *sums, const struct block *block);

/* Adds a total to that of its process and of an interned stack, `trace` (stacks/resolver.h). */
void block_sums_merge(struct block_sums *sums, const struct block_sum *sum, uint64_t trace);

/* Sorts by bytes, or by count, largest first. */
void block_sums_sort(struct block_sums *sums, bool by_count);

/*
 * Finds values that keep growing, by their state at the end of each interval: caches grow and
 * shrink, leaks only grow. A value grows if it has risen in GROWTH_INTERVALS consecutive intervals,
 * each time to a new maximum; intervals without change are skipped. A value that fluctuates at
 * random does so once in (GROWTH_INTERVALS + 1)! intervals.
 */

#define GROWTH_INTERVALS 6

struct growth {
	uint64_t id;
	uint64_t bytes, count;		/* values at the end of this interval */
	int64_t bytes_more, count_more; /* growth since the previous interval */
	uint64_t most_bytes;		/* maximum so far */
	uint32_t n_rises;		/* consecutive intervals with growth */
	uint32_t interval;		/* interval of the latest values */
};

/* All zero: no values yet. */
struct growths {
	struct idmap by_id;
	uint32_t interval; /* number of the latest interval; the first is 1 */
};

void growths_clear(struct growths *growths);

/*
 * Begins a new set of values at the end of an interval; growths_set() follows for each id with a
 * value. Ids without a value count as 0, and are dropped, with their maximum, after
 * GROWTH_INTERVALS intervals.
 */
void growths_next(struct growths *growths);
void growths_set(struct growths *growths, uint64_t id, uint64_t bytes, uint64_t count);

/* Returns an id's growth, valid until growths_next(); NULL: it doesn't keep growing. */
const struct growth *growths_find(const struct growths *growths, uint64_t id);

#endif
