/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finds, adds and removes live blocks: the same code in the kernel and, for tests, in user space.
 * The includer defines blocks_bucket() and blocks_mask().
 *
 * Parameters and results are numbers only: in the kernel, BLOCKS_FUNCTIONs are global functions,
 * which the verifier checks once and which have a stack frame of their own. Helpers are inlined
 * because a call takes longer.
 */
#ifndef ABI_BLOCK_TABLE_H
#define ABI_BLOCK_TABLE_H

#include "abi/block.h"

#ifdef __bpf__
#define BLOCKS_FUNCTION __attribute__((noinline))
#else
#define BLOCKS_FUNCTION static inline
#endif
#define BLOCKS_INLINE static inline __attribute__((always_inline))

BLOCKS_INLINE struct block_bucket *blocks_bucket(__u64 index); /* NULL: index out of range */
BLOCKS_INLINE __u64 blocks_mask(void); /* number of buckets (a power of two) minus one */

BLOCKS_INLINE __u64 blocks_hash(__u64 addr, __u32 tgid)
{
	__u64 h = (addr ^ (__u64)tgid << 40) * 0x9e3779b97f4a7c15ULL;

	return h ^ h >> 32;
}

BLOCKS_INLINE __u64 blocks_second(__u64 hash)
{
	return (hash * 0xbf58476d1ce4e5b9ULL) >> 32;
}

/*
 * Returns true if the address is sampled: one address in `sample` is. The answer is the same for
 * allocation and free. Uses a hash of its own: if it depended on the bucket index, sampled blocks
 * would use few buckets.
 */
BLOCKS_INLINE int blocks_are_sampled(__u64 addr, __u32 sample)
{
	__u64 h = addr * 0x94d049bb133111ebULL;

	return sample <= 1 || !((__u32)((h ^ h >> 32) * 0xff51afd7ed558ccdULL >> 32) % sample);
}

/* Returns the number of the block's cell in the bucket, from 1 on; 0 if the block isn't there. */
BLOCKS_INLINE __u64 blocks_find_in(__u64 index, __u64 addr, __u32 tgid)
{
	struct block_bucket *b = blocks_bucket(index);

	for (int i = 0; b && i < BLOCK_WAYS; i++)
		if (b->addrs[i] == addr && b->blocks[i].tgid == tgid)
			return index * BLOCK_WAYS + i + 1;
	return 0;
}

/* Returns the number of the block's cell, from 1 on; 0 if the block isn't in the table. */
BLOCKS_FUNCTION __u64 blocks_find(__u64 addr, __u32 tgid)
{
	__u64 hash = blocks_hash(addr, tgid);
	__u64 place = blocks_find_in(hash & blocks_mask(), addr, tgid);

	return place ? place : blocks_find_in(blocks_second(hash) & blocks_mask(), addr, tgid);
}

/* Frees a cell. Returns false if another program freed it first. */
BLOCKS_INLINE int blocks_remove(__u64 place, __u64 addr)
{
	struct block_bucket *b = blocks_bucket((place - 1) / BLOCK_WAYS);

	return b &&
	       __sync_val_compare_and_swap(&b->addrs[(place - 1) % BLOCK_WAYS], addr, 0) == addr;
}

/*
 * Returns blocks_find_in()'s result << BLOCKS_ROOM_BITS if the block is in the bucket, else the
 * number of the bucket's free cells. Counts them without branches: the verifier would follow both
 * ways of each.
 */
#define BLOCKS_ROOM_BITS    8
#define BLOCKS_PLACE(found) ((found) >> BLOCKS_ROOM_BITS)

BLOCKS_INLINE __u64 blocks_look_in(__u64 index, __u64 addr, __u32 tgid)
{
	struct block_bucket *b = blocks_bucket(index);
	__u64 room = 0, word;

	for (int i = 0; b && i < BLOCK_WAYS; i++) {
		barrier_var(i); /* not unrolled: unrolled, it takes more stack */
		word = b->addrs[i];
		if (word == addr && b->blocks[i].tgid == tgid)
			return (index * BLOCK_WAYS + i + 1) << BLOCKS_ROOM_BITS;
		barrier_var(word);
		room += ((word - 1) & ~word) >> 63;
	}
	return room;
}

/* Puts a block into a bucket. Returns false if the bucket is full. */
BLOCKS_FUNCTION int blocks_put(__u64 index, __u64 addr, __u64 stack_id, __u64 size_generation,
			       __u64 tgid_time)
{
	struct block_bucket *b = blocks_bucket(index);

	for (int i = 0; b && i < BLOCK_WAYS; i++) {
		barrier_var(i); /* not unrolled: unrolled, it takes more stack */
		if (b->addrs[i] || __sync_val_compare_and_swap(&b->addrs[i], 0, BLOCK_CLAIMED))
			continue;
		b->blocks[i].stack_id = stack_id;
		b->blocks[i].size_generation = size_generation;
		b->blocks[i].tgid_time = tgid_time;
		__sync_lock_test_and_set(&b->addrs[i], addr); /* publishes the fields above */
		return 1;
	}
	return 0;
}

/* Overwrites a block whose free was missed with a new one at the same address. */
BLOCKS_INLINE int blocks_replace(__u64 place, __u64 stack_id, __u64 size_generation,
				 __u64 tgid_time)
{
	struct block_bucket *b = blocks_bucket((place - 1) / BLOCK_WAYS);
	__u64 i = (place - 1) % BLOCK_WAYS;

	if (!b)
		return 0;
	b->blocks[i].stack_id = stack_id;
	b->blocks[i].size_generation = size_generation;
	b->blocks[i].tgid_time = tgid_time;
	return 1;
}

/* Adds a block to the emptier one of its two buckets. Returns false if both are full. */
BLOCKS_FUNCTION int blocks_add(__u64 addr, __u64 stack_id, __u64 size_generation, __u64 tgid_time)
{
	__u64 hash = blocks_hash(addr, (__u32)tgid_time), n_free;
	__u64 index = hash & blocks_mask(), other = blocks_second(hash) & blocks_mask();
	__u64 found = blocks_look_in(index, addr, (__u32)tgid_time);

	n_free = found;
	if (!BLOCKS_PLACE(found))
		found = blocks_look_in(other, addr, (__u32)tgid_time);
	if (BLOCKS_PLACE(found))
		return blocks_replace(BLOCKS_PLACE(found), stack_id, size_generation, tgid_time);
	if (found > n_free) {
		other = index;
		index = blocks_second(hash) & blocks_mask();
	}
	return blocks_put(index, addr, stack_id, size_generation, tgid_time) ||
	       blocks_put(other, addr, stack_id, size_generation, tgid_time);
}

#endif
