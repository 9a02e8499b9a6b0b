/* SPDX-License-Identifier: GPL-2.0-only */
/* Cached walks of user stacks: see stack_memory.bpf.h. */
#ifndef ABI_STACK_MEMORY_H
#define ABI_STACK_MEMORY_H

#include "abi/types.h"

#define STACK_MEMORY_PAGES 32  /* maximum number of pages of a stack */
#define STACK_PAGE_SLOTS   32  /* maximum number of compared words of a page */
#define STACK_PAGE_FAR	   16  /* maximum number of distant objects of a page */
#define STACK_PAGE_WORDS   256 /* maximum number of copied words; word indices are bytes */
#define STACK_PAGE_BELOW   64  /* bytes: space for later reads at lower addresses */
/* bytes below a page's first word: for later reads on either side, or mostly at lower addresses */
#define STACK_PAGE_MIDDLE (STACK_PAGE_WORDS * 8 / 2)
#define STACK_PAGE_ABOVE  (STACK_PAGE_WORDS * 8 - 2 * STACK_PAGE_BELOW)
/* number of pages from which on an object's words begin no further page, see v8_record_words() */
#define STACK_MAX_WINDOWS 16
#define STACK_FAR_WORDS	  9 /* maximum number of words of a distant object */

/* Bytes of a word that are compared, from `first` to `last`; 0: all. */
#define STACK_BYTES(first, last) (7 - (last) + ((7 - (last) + (first)) << 3))
#define STACK_LOW_BITS		 0xff /* instead of STACK_BYTES(): compare the lowest two bits */

/*
 * Words that determined the path of a walk: those close to each other, or the digests of distant
 * objects. An object takes two words: its address, with the number of words in the upper byte, and
 * its digest.
 */
struct stack_page {
	__u64 start;   /* address of word 0 */
	__u16 n;       /* number of used slots, or objects */
	__u16 n_below; /* number of words before the first compared one */
	__u16 n_words; /* number of words up to the last compared one */
	bool is_far;
	__u16 at[STACK_PAGE_SLOTS]; /* index of each word; in the upper byte its STACK_BYTES() */
	__u64 words[STACK_PAGE_SLOTS];
};

/* A walk's initial registers, and the tables that it uses. */
struct stack_start {
	__u64 ip, sp, bp, extra;
	__u64 leaf;
	__u64 owner;  /* process and generation */
	__u64 tables; /* the slice's serial, the epoch, and the size of the perf map */
};

/*
 * A stack and one of its pages; its other pages are in the following elements. A page with a
 * different stamp belongs to another stack. Stacks with a runtime's frames may begin alike: then
 * the first element for their beginning has only a selector, whose value leads to the element of
 * each stack.
 */
struct stack_memory {
	struct stack_start start;
	__u64 id; /* id of the stack; 0: a walk began, but its end is unknown */
	__u64 stamp;
	__u64 selector; /* address of a word that mostly differs between stacks; 0: none */
	__u64 thread;	/* the thread must match, see stack_memory_thread(); 0: any */
	__u32 n_pages;
	__u32 far_pages;	  /* bits: pages with objects */
	bool uses_bp, uses_extra; /* start.bp, start.extra must match */
	__u8 n_failed;		  /* recordings in vain: incomplete, or different the next time */
	__u8 n_walks;		  /* walks since the last recording */
	__u64 page_stamp;
	struct stack_page page;
};

struct stack_memory_settings {
	__u32 n; /* elements per CPU: a power of 2; 0: no caching */
};

/* Words and registers that determine the path of the current walk. */
struct stack_record {
	struct stack_start start;
	__u64 selector, selected; /* address as in struct stack_memory; the word there */
	__u64 thread;
	__u32 place; /* number of the walk's element */
	bool is_selected, has_begun;
	__u32 n_pages;
	__u32 far_pages;
	__u32 n_near, n_far; /* numbers of the last pages of either kind; 0: none */
	__u64 object[STACK_FAR_WORDS];
	struct stack_page pages[STACK_MEMORY_PAGES];
};

/*
 * Returns the digest of the first n of STACK_FAR_WORDS words; a single word is its own digest. The
 * loop has no branch, for the verifier.
 */
static inline __attribute__((always_inline)) __u64 stack_digest(const __u64 *words, __u64 n)
{
	__u64 digest = 0;

	if (n == 1)
		return words[0];
	for (__u64 i = 0; i < STACK_FAR_WORDS; i++) {
		digest = (digest ^ (words[i] & -((i - n) >> 63))) * 0x9e3779b97f4a7c15ULL;
		digest ^= digest >> 29;
	}
	return digest;
}

#endif
