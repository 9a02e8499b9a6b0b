/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Live blocks as the loader reads them, out of the table that BPF programs write (bpf/abi/block.h):
 * totalled per allocating stack.
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
size_t blocks_in_buckets(size_t n_buckets);

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

/* Adds a total to that of the same process and interned stack (stacks/stackdefs.h). */
void block_sums_merge(struct block_sums *sums, const struct block_sum *sum, uint64_t trace);

/* Sorts by bytes, or by count, largest first. */
void block_sums_sort(struct block_sums *sums, bool by_count);

size_t block_sums_count(const struct block_sums *sums);
const struct block_sum *block_sum(const struct block_sums *sums, size_t i);

#endif
