/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Live blocks as the loader reads them, out of the table that BPF programs write (bpf/abi/block.h):
 * totalled per allocating stack; and which totals grow.
 */
#ifndef BLOCKS_H
#define BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "abi/block.h"

/* How full a table can be before a block finds no cell: see the unit test. */
#define BLOCKS_FILL_PERCENT 70

/* Returns the number of buckets, a power of two, for that many blocks. */
size_t blocks_buckets_for(size_t n_blocks);

/* n_buckets, a power of two, halved until the table takes at most max_bytes; at least one. */
size_t blocks_buckets_within(size_t n_buckets, uint64_t max_bytes);

/* Returns the capacity of the buckets in blocks. */
static inline size_t blocks_in_buckets(size_t n_buckets)
{
	return n_buckets * BLOCK_WAYS * BLOCKS_FILL_PERCENT / 100;
}

/*
 * Calls visit for each block. A block being changed is seen before or after the change, or skipped,
 * never half-written; if visit returns false, the block is removed.
 */
void blocks_visit(struct block_bucket *buckets, size_t n_buckets,
		  bool (*visit)(uint64_t addr, const struct block *block, void *arg), void *arg);

/* Returns the age of a block at that time. */
uint64_t block_age_ms(const struct block *block, uint64_t now_ns);

/* Blocks of one stack. */
struct block_sum {
	uint64_t id;	   /* of the sum, never 0 */
	uint64_t stack_id; /* 0: it could not be taken */
	pid_t tgid;
	uint64_t bytes, count;
	uint64_t oldest_ms, youngest_ms;
};

struct block_sums;

struct block_sums *block_sums_new(void);
void block_sums_free(struct block_sums *sums);
const struct block_sum *block_sums_add(struct block_sums *sums, const struct block *block,
				       uint64_t now_ns);

/* Makes sure that the block's stack has a total, which may be 0. */
void block_sums_mention(struct block_sums *sums, const struct block *block);

/* Adds a total to that of the same process and interned stack (stacks/resolver.h). */
void block_sums_merge(struct block_sums *sums, const struct block_sum *sum, uint64_t trace);

/* Sorts by bytes, or by count, largest first. */
void block_sums_sort(struct block_sums *sums, bool by_count);

size_t block_sums_count(const struct block_sums *sums);
const struct block_sum *block_sum(const struct block_sums *sums, size_t i);

/*
 * Finds numbers that keep growing, by their values at the end of each interval. Caches go up and
 * down; leaks go up only. So a number grows if it has gone up in GROWTH_INTERVALS consecutive
 * intervals, each time to a new maximum; an interval without change is skipped. For a number that
 * moves at random about a level, that happens once in (GROWTH_INTERVALS + 1)! intervals.
 */

#define GROWTH_INTERVALS 6

struct growth {
	uint64_t id;
	uint64_t bytes, count;		/* values at the end of this interval */
	int64_t bytes_more, count_more; /* growth since the end of the previous one */
	uint64_t most_bytes;		/* maximum so far */
	uint32_t n_rises;		/* consecutive intervals in which it grew */
	uint32_t interval;		/* interval of the latest values */
};

struct growths;

struct growths *growths_new(void);
void growths_free(struct growths *growths);

/*
 * Called when an interval has ended, followed by growths_set() for each id that has a value. Ids
 * without a value count as 0, and are dropped, with their maximum, after GROWTH_INTERVALS
 * intervals.
 */
void growths_next(struct growths *growths);
void growths_set(struct growths *growths, uint64_t id, uint64_t bytes, uint64_t count);

/* Returns the growth of an id that was set before. NULL if it doesn't keep growing. */
const struct growth *growths_find(const struct growths *growths, uint64_t id);

#endif
