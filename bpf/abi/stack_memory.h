/* SPDX-License-Identifier: GPL-2.0-only */
/* Cached walks of user stacks: see stack_memory.bpf.h. */
#ifndef ABI_STACK_MEMORY_H
#define ABI_STACK_MEMORY_H

#include "abi/types.h"

#define STACK_MEMORY_PAGES 16  /* maximum number of pages of a stack */
#define STACK_PAGE_SLOTS   32  /* maximum number of compared words of a page */
#define STACK_PAGE_WORDS   256 /* maximum number of copied words; word indices are bytes */
#define STACK_PAGE_BELOW   64  /* bytes: space for later reads at lower addresses */

/* Nearby stack words that determined the path of a walk. */
struct stack_page {
	__u64 start;	/* address of word 0 */
	__u16 n;	/* number of used slots */
	__u16 n_copied; /* number of words to copy, up to the last compared one */
	__u8 at[STACK_PAGE_SLOTS];
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
 * different stamp belongs to another stack.
 */
struct stack_memory {
	struct stack_start start;
	__u64 id; /* id of the stack; 0: a walk began, but its end is unknown */
	__u64 stamp;
	__u32 n_pages;
	bool uses_bp, uses_extra; /* start.bp, start.extra must match */
	__u64 page_stamp;
	struct stack_page page;
};

struct stack_memory_settings {
	__u32 n; /* elements per CPU: a power of 2; 0: no caching */
};

/* Words and registers that determine the path of the current walk. */
struct stack_record {
	struct stack_start start;
	__u32 n_pages;
	struct stack_page pages[STACK_MEMORY_PAGES];
};

#endif
