/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Frames of managed runtimes, shared by BPF and the loader: words of a stack that stand for
 * functions, their definitions, and programs that may have a runtime. Layouts: abi/runtimes.h.
 */
#ifndef ABI_RUNTIME_H
#define ABI_RUNTIME_H

#include "abi/types.h"

#define RUNTIME_INLINE static inline __attribute__((always_inline))

struct runtime_settings {
	__u32 kinds;  /* runtimes to walk, as RUNTIME_BIT()s */
	bool lines;   /* also record each frame's position in its function */
	bool watched; /* note processes: kinds may be added (object_load_again()) */
};

/*
 * Words of a stack that stand for functions of a runtime:
 *
 *	bits 63..61  tag; addresses never begin with these bits, even if marked (STACK_EXACT)
 *	bits 60..43  part of the function's fingerprint: a reused address gives a different word
 *	bits 42..0   address that stands for the function, without its low four bits
 *
 * The whole fingerprint is a part of the stack's id. Segments of such words follow the native
 * words. A segment begins with a word with address 0 and, in place of the fingerprint, the index of
 * the native frame that runs the segment; an index past the last native frame means no frame. With
 * RUNTIME_REPLACES, the functions are those of native frames, one each, from that frame outwards. A
 * word without tag after a function's word is the position in the function.
 */
#define RUNTIME_WORD_TAG	 (6ULL << 61)
#define RUNTIME_WORD_MASK	 (7ULL << 61)
#define RUNTIME_ADDR_BITS	 43
#define RUNTIME_FINGERPRINT_BITS 18
#define RUNTIME_REPLACES	 (1ULL << 60)

RUNTIME_INLINE __u64 runtime_word(__u64 address, __u64 fingerprint)
{
	return RUNTIME_WORD_TAG |
	       fingerprint >> (64 - RUNTIME_FINGERPRINT_BITS) << RUNTIME_ADDR_BITS |
	       (address >> 4 & ((1ULL << RUNTIME_ADDR_BITS) - 1));
}

RUNTIME_INLINE __u64 runtime_segment_word(__u32 frame)
{
	return RUNTIME_WORD_TAG | (__u64)frame << RUNTIME_ADDR_BITS;
}

RUNTIME_INLINE bool runtime_is_word(__u64 word)
{
	return (word & RUNTIME_WORD_MASK) == RUNTIME_WORD_TAG;
}

RUNTIME_INLINE bool runtime_is_segment(__u64 word)
{
	return runtime_is_word(word) && !(word & ((1ULL << RUNTIME_ADDR_BITS) - 1));
}

RUNTIME_INLINE __u32 runtime_segment_frame(__u64 word)
{
	return (__u32)((word & ~(RUNTIME_WORD_MASK | RUNTIME_REPLACES)) >> RUNTIME_ADDR_BITS);
}

RUNTIME_INLINE bool runtime_segment_replaces(__u64 word)
{
	return word & RUNTIME_REPLACES;
}

RUNTIME_INLINE __u64 runtime_mix(__u64 hash, __u64 word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
	return hash ^ hash >> 29;
}

/*
 * Definition of a function's word: sent once, in the ring buffer of stack definitions, before the
 * first stack that has the word. Begins like struct stack_def; the runtime's own data follows.
 */
struct runtime_def {
	__u64 word;
	__u32 kind; /* always STACK_FUNCTION */
	__u32 tgid;
	__u64 fingerprint;
	__u32 runtime; /* enum runtime_kind */
};

/* Pages of an unwind table (unwind_layout.h); n_pages 0: no table. */
struct runtime_table {
	__u64 start; /* address of the first page's start */
	__u32 first_page, n_pages;
};

/* A program, identified by its file. */
struct runtime_program {
	__u64 dev, ino;
};

/* State of a program, learned from its processes; no element: unknown. */
enum runtime_program_kind {
	RUNTIME_NEVER = 1, /* no process had a runtime, at its start or later */
	RUNTIME_SOME,	   /* a process had a runtime */
};

/* Record: a process has started a program that may have a runtime. */
struct runtime_begin {
	struct runtime_program program;
	__u64 tgid;
};

#endif
