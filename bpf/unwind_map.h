/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How unwind tables lie in BPF maps, written by the loader (common/unwind.c) and read by the walker
 * (unwind.bpf.h).
 *
 *	process:  tgid -> a slice of mappings, ascending, and the count of changes it goes with
 *	mapping:  addresses -> a run of pages, one per 64 KiB of the file's text
 *	page:     cells that lie together in one shard
 *	rule:     struct unwind_rule, shared by all files
 *
 * A cell has 16 bits. A page's are, in this order: for each of its blocks of 256 bytes where the
 * block's rows begin, counted from the page's first cell, and where the last one's end; the numbers
 * of the page's rules; and the rows. A row has the low 8 bits of the first ELF address that a rule
 * applies to, and above them the rule's place among the page's. Since an ARRAY map rounds its elements
 * up to 8 bytes, cells lie in shards: arrays of one element, of which as many are made as are needed.
 */
#ifndef UNWIND_MAP_H
#define UNWIND_MAP_H

#include "types.h"
#include "unwind.h"

#define UNWIND_PAGE_SHIFT  16
#define UNWIND_BLOCK_SHIFT 8
#define UNWIND_PAGE_BLOCKS (1U << (UNWIND_PAGE_SHIFT - UNWIND_BLOCK_SHIFT))
#define UNWIND_PAGE_RULES  256	      /* at most */
#define UNWIND_SHARD_CELLS (1U << 18) /* 512 KiB */
#define UNWIND_MAX_SHARDS  512
#define UNWIND_MAX_PAGES   (1U << 15)
#define UNWIND_MAX_RULES   (1U << 14)
#define UNWIND_SLICE_BITS  12 /* a process has fewer than 2^12 executable mappings */

#define UNWIND_CHANGES 4096

/*
 * Slices lag behind mmap(2) and munmap(2) by as long as the loader needs. Where something new takes
 * the place of known code, the old tables are not only incomplete but wrong, so BPF counts such
 * changes (by tgid % UNWIND_CHANGES), and a slice from before the latest one isn't used.
 */
struct unwind_process {
	__u32 first, count; /* of its mappings */
	__u32 change;
	__u32 unused;
};

/* By tgid % UNWIND_CHANGES. */
struct unwind_change {
	__u32 count;
	__u32 n_copies; /* sent since the loader last published a slice for an event */
};

struct unwind_mapping {
	__u64 start, end;  /* addresses; end exclusive */
	__u64 pages_start; /* the address of the first page's first byte, whoever else has that */
	__u32 first_page;
	__u32 n_pages; /* 0: no tables for this file */
};

struct unwind_page {
	__u32 first_cell; /* in the shard */
	__u16 shard;
	__u16 n_cells;
};

#define UNWIND_RULE_GAP	       0		/* the first rule */
#define UNWIND_RULE_NOT_YET    UNWIND_MAX_RULES /* no rule: its shard is not there yet */
#define UNWIND_ROW(low, place) ((__u16)((low) | (place) << 8))
#define UNWIND_ROW_LOW(row)    ((row)&0xff)
#define UNWIND_ROW_PLACE(row)  ((row) >> 8)
#define UNWIND_RULES_AT	       (UNWIND_PAGE_BLOCKS + 1) /* in a page's cells */

struct unwind_shard {
	__u16 cells[UNWIND_SHARD_CELLS];
};

static inline __attribute__((always_inline)) __u32 unwind_cell(const struct unwind_shard *shard,
							       __u32 at)
{
	return shard->cells[at & (UNWIND_SHARD_CELLS - 1)];
}

/*
 * The number of the rule in a page for the low 16 bits of an address: that of the last row at or
 * below them, which may be one of an earlier block. The page's first row applies to its first byte.
 */
static inline __attribute__((always_inline)) __u32 unwind_search(const struct unwind_shard *shard,
								 __u32 first_cell, __u32 low)
{
	__u32 block = first_cell + (low >> UNWIND_BLOCK_SHIFT), middle,
	      below = first_cell + unwind_cell(shard, block),
	      above = first_cell + unwind_cell(shard, block + 1);

	low &= (1U << UNWIND_BLOCK_SHIFT) - 1;
	for (int i = 0; i <= UNWIND_BLOCK_SHIFT && below < above; i++) {
		middle = below + (above - below) / 2;
		if (UNWIND_ROW_LOW(unwind_cell(shard, middle)) <= low)
			below = middle + 1;
		else
			above = middle;
	}
	return unwind_cell(shard, first_cell + UNWIND_RULES_AT +
					  UNWIND_ROW_PLACE(unwind_cell(shard, below - 1)));
}

/* The registers as the kernel saves them (struct pt_regs, x86-64). */
struct unwind_regs {
	__u64 r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di;
	__u64 orig_ax, ip, cs, flags, sp, ss;
};

/* A walk in progress. */
struct unwind_state {
	__u64 ip, sp, bp, bx;
	bool ip_is_exact;   /* not a return address: frame 0, or interrupted by a signal */
	bool sp_may_stay;   /* the next frame's stack may begin anywhere */
	bool has_registers; /* all of regs hold: frame 0 */
	bool has_bx;
	struct unwind_process process;
	struct unwind_mapping mapping; /* of the latest ip */
	struct unwind_regs regs;
};

/*
 * A stack that BPF could not walk to its end since the loader lags behind: what the loader needs to
 * walk it when it has caught up. It begins as struct stack_def does.
 */
struct unwind_copy {
	__u64 id;
	__u32 kind;
	__u32 tgid;
	__u32 generation;
	__u16 n_words; /* none */
	__u16 reason;
	__u64 time_ns;
	__u32 change;  /* the process's count: other mappings than that one's don't fit */
	__u32 n_bytes; /* of the stack, from regs.sp on */
	struct unwind_regs regs;
	__u8 bytes[];
};

/* A thread that is off CPU, for the loader to walk its user stack. */
struct unwind_thread {
	__u32 tgid, tid;
	__u64 generation;
	__u64 arrivals; /* how often it has come to a CPU: the rest holds as long as that does */
	struct unwind_regs regs;
};

/* Up to a piece of each size may remain unused. */
#define UNWIND_COPY_PIECE  1024
#define UNWIND_COPY_SMALL  (3 << 10)
#define UNWIND_COPY_MEDIUM (9 << 10)
#define UNWIND_COPY_LARGE  (33 << 10)
#define UNWIND_MAX_COPIES  256 /* in a row: a walk may also end early for ever */

/* How a walk ended. */
enum unwind_reason {
	UNWIND_GOES_ON,
	UNWIND_COMPLETE,    /* the outermost frame was reached */
	UNWIND_DEPTH,	    /* deeper than STACK_DEPTH */
	UNWIND_NO_PROCESS,  /* no tables of the process yet */
	UNWIND_NO_MAPPING,  /* an address in no known mapping */
	UNWIND_NO_RULE,	    /* code without unwind information: a JIT, hand-written assembly */
	UNWIND_BAD_RULE,    /* a rule that can't be followed */
	UNWIND_FAULT,	    /* stack memory that is not resident */
	UNWIND_NO_PROGRESS, /* the stack pointer did not move up */
	UNWIND_32BIT,	    /* a 32-bit program */
	UNWIND_BY_FP,	    /* walked by frame pointers alone: completeness unknown */
	UNWIND_NO_STACK,    /* the task has none: before its program's begin or after its end */
	UNWIND_RAN_ON,	    /* the thread had gone on when its stack was looked at from outside */
	UNWIND_REASONS,
};

struct unwind_settings {
	bool by_cfi;
};

#endif
