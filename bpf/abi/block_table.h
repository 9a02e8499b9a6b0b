/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Adding and taking blocks: the same code in the kernel and, for tests, in user space. The includer
 * defines the two functions that lead to the buckets.
 *
 * The functions take and return numbers only, since in the kernel those that several programs call
 * are global ones: the verifier sees each once, and each has a small stack of its own. Their
 * helpers are inlined, because a call takes longer.
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

BLOCKS_INLINE struct block_bucket *blocks_bucket(__u64 index); /* NULL: there is no such bucket */
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
 * Returns true if an address is in the sample of one in N; allocation and free get the same answer.
 * It must not depend on the block's buckets, or these would be few.
 */
BLOCKS_INLINE int blocks_are_sampled(__u64 addr, __u32 sample)
{
	__u64 h = addr * 0x94d049bb133111ebULL;

	return sample <= 1 || !((__u32)((h ^ h >> 32) * 0xff51afd7ed558ccdULL >> 32) % sample);
}

/* Returns the position of a block in a bucket: 0 if it isn't there. */
BLOCKS_INLINE __u64 blocks_find_in(__u64 index, __u64 addr, __u32 tgid)
{
	struct block_bucket *b = blocks_bucket(index);

	for (int i = 0; b && i < BLOCK_WAYS; i++)
		if (b->addrs[i] == addr && b->blocks[i].tgid == tgid)
			return index * BLOCK_WAYS + i + 1;
	return 0;
}

/* Returns the cell of a block: 0 if it isn't there. */
BLOCKS_FUNCTION __u64 blocks_find(__u64 addr, __u32 tgid)
{
	__u64 hash = blocks_hash(addr, tgid);
	__u64 place = blocks_find_in(hash & blocks_mask(), addr, tgid);

	return place ? place : blocks_find_in(blocks_second(hash) & blocks_mask(), addr, tgid);
}

/* Frees a cell. False if another program was faster. */
BLOCKS_INLINE int blocks_remove(__u64 place, __u64 addr)
{
	struct block_bucket *b = blocks_bucket((place - 1) / BLOCK_WAYS);

	return b &&
	       __sync_val_compare_and_swap(&b->addrs[(place - 1) % BLOCK_WAYS], addr, 0) == addr;
}

/*
 * The same as blocks_find_in(), above the number of places that are free up to there: all of them
 * if the block isn't in the bucket. They are counted without branches, of which the verifier would
 * follow each.
 */
#define BLOCKS_ROOM_BITS    8
#define BLOCKS_PLACE(found) ((found) >> BLOCKS_ROOM_BITS)

BLOCKS_INLINE __u64 blocks_look_in(__u64 index, __u64 addr, __u32 tgid)
{
	struct block_bucket *b = blocks_bucket(index);
	__u64 room = 0, word;

	for (int i = 0; b && i < BLOCK_WAYS; i++) {
		__asm__ volatile("" : "+r"(i)); /* not unrolled, which takes stack */
		word = b->addrs[i];
		if (word == addr && b->blocks[i].tgid == tgid)
			return (index * BLOCK_WAYS + i + 1) << BLOCKS_ROOM_BITS;
		__asm__ volatile("" : "+r"(word));
		room += ((word - 1) & ~word) >> 63;
	}
	return room;
}

/* Puts a block into a bucket. False if it is full. */
BLOCKS_FUNCTION int blocks_put(__u64 index, __u64 addr, __u64 stack_id, __u64 size_generation,
			       __u64 tgid_time)
{
	struct block_bucket *b = blocks_bucket(index);

	for (int i = 0; b && i < BLOCK_WAYS; i++) {
		__asm__ volatile("" : "+r"(i)); /* not unrolled, which takes stack */
		if (b->addrs[i] || __sync_val_compare_and_swap(&b->addrs[i], 0, BLOCK_CLAIMED))
			continue;
		b->blocks[i].stack_id = stack_id;
		b->blocks[i].size_generation = size_generation;
		b->blocks[i].tgid_time = tgid_time;
		__sync_lock_test_and_set(&b->addrs[i], addr); /* after what was written before */
		return 1;
	}
	return 0;
}

/* A block that is there already, whose end was missed, gives its place to the new one. */
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

/* Adds a block, in the emptier one of its two buckets. False if both are full. */
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
