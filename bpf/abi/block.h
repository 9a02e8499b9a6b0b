/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The table of live blocks, shared by BPF and the loader: BPF programs on all CPUs write it at the
 * same time; the loader reads it through mmap(), part by part, so that a report of millions of
 * blocks takes few system calls.
 *
 * A block's address and owner select two buckets; the block is stored in the emptier one. So the
 * table is more than two thirds full before a block finds no cell, no element is ever moved, and
 * nothing is locked. A cell is claimed by compare-and-exchange, filled, published by storing the
 * block's address, and freed by compare-and-exchange. Two programs never add or remove one block at
 * the same time: an address is handed out once until it is freed, and BPF records allocation and
 * free while the traced program holds the block. See block_table.h.
 */
#ifndef ABI_BLOCK_H
#define ABI_BLOCK_H

#include "abi/types.h"

#define BLOCK_WAYS    8
#define BLOCK_CLAIMED 1ULL /* value in addrs[]: the cell is being filled */

#define BLOCK_TIME_SHIFT      20
#define BLOCK_GENERATION_BITS 16
#define BLOCK_MAX_BYTES	      ((1ULL << (64 - BLOCK_GENERATION_BITS)) - 1)

struct block {
	__u64 stack_id;
	__u64 size_generation; /* see block_pack() */
	union {
		__u64 tgid_time;
		struct {
			__u32 tgid; /* owner; 0: the kernel */
			__u32 time; /* CLOCK_MONOTONIC at a tick, in 2^BLOCK_TIME_SHIFT ns */
		};
	};
};

/* Packs a block's size in bytes and its process's generation, which changes with each exec. */
static inline __u64 block_pack(__u64 size, __u16 generation)
{
	return (size < BLOCK_MAX_BYTES ? size : BLOCK_MAX_BYTES) << BLOCK_GENERATION_BITS |
	       generation;
}

static inline __u64 block_size(const struct block *block)
{
	return block->size_generation >> BLOCK_GENERATION_BITS;
}

static inline __u16 block_generation(const struct block *block)
{
	return (__u16)block->size_generation;
}

/*
 * Returns true if the block belongs to a later program of its process than generation: BPF adds
 * blocks while the loader reads the table.
 */
static inline int block_is_younger(const struct block *block, __u16 generation)
{
	return (__s16)(block_generation(block) - generation) > 0;
}

struct block_bucket {
	__u64 addrs[BLOCK_WAYS]; /* addresses of the blocks; 0: free cell */
	struct block blocks[BLOCK_WAYS];
};

#endif
