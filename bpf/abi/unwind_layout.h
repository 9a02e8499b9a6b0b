/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How unwind tables lie in BPF maps, written by the loader (unwind/unwind_tables.c, unwind_procs.c
 * and stacks/unwind_maps.c) and read by the walker (unwind.bpf.h).
 *
 *	process:  tgid -> a slice of mappings, ascending, and the count of changes it goes with
 *	mapping:  addresses -> a run of pages, one per 64 KiB of the file's text
 *	page:     cells that lie together in one shard
 *	rule:     struct unwind_rule, shared by all files
 *	pattern:  some rules that follow each other closely, also shared
 *
 * A cell has 16 bits. A page's are, in this order: for each of its blocks of 256 bytes where the
 * block's rows begin, counted from the page's first cell, and where the last one's end; the numbers
 * of the page's rules and patterns; and the rows. A row has the low 8 bits of the first ELF address
 * that it applies to, and above them the place of its rule or pattern among the page's. Since an
 * ARRAY map rounds its elements up to 8 bytes, cells lie in shards: arrays of one element, of which
 * as many are made as are needed.
 */
#ifndef ABI_UNWIND_LAYOUT_H
#define ABI_UNWIND_LAYOUT_H

#include "abi/search.h"
#include "abi/types.h"
#include "abi/unwind_regs.h"
#include "abi/unwind_rule.h"

#define UNWIND_PAGE_SHIFT    16
#define UNWIND_BLOCK_SHIFT   8
#define UNWIND_PAGE_BLOCKS   (1U << (UNWIND_PAGE_SHIFT - UNWIND_BLOCK_SHIFT))
#define UNWIND_PAGE_RULES    256	/* at most */
#define UNWIND_SHARD_CELLS   (1U << 18) /* 512 KiB */
#define UNWIND_MAX_SHARDS    512
#define UNWIND_SHARD_PAGES   512 /* minimum capacity of a shard, in pages of real code */
#define UNWIND_MAX_PAGES     (UNWIND_MAX_SHARDS * UNWIND_SHARD_PAGES)
#define UNWIND_MAX_RULES     (1U << UNWIND_RULE_BITS)
#define UNWIND_MAX_PATTERNS  (1U << 13)
#define UNWIND_PATTERN_STEPS 8
#define UNWIND_SLICE_BITS    12 /* a process has fewer than 2^12 executable mappings */

/*
 * Cache of rules found lately, by address and slice: the number of the rule in the low bits
 * of one word, and above them the hash of both, so that no lock is needed. Within a slice no two
 * addresses less than 2^48 apart have those bits of the hash in common: it is a multiplication by
 * 2^64 over the golden ratio, whose multiples keep away from each other (Knuth, TAOCP 3, 6.4).
 */
#define UNWIND_RULE_BITS   14
#define UNWIND_RECENT_BITS 14
#define UNWIND_RECENT	   (1U << UNWIND_RECENT_BITS)
#define UNWIND_RECENT_HASH 0x9e3779b97f4a7c15ULL

/*
 * Slices follow mmap(2) and munmap(2) with the loader's delay. If new code replaces known code, the
 * old tables are not only incomplete but wrong, so BPF counts such changes for each process, and a
 * slice from before the latest one isn't used. Publishing replaces the whole element, so the count
 * has a table of its own; for a walk not to look there each time, BPF notes in the element that it
 * has compared the two, and that they may differ since.
 */
struct unwind_process {
	__u32 first, count; /* of its mappings */
	__u32 change;	    /* the count of changes that the slice goes with */
	__u32 serial;	    /* serial number of the slice's contents, never reused */
	__u32 n_changes;    /* since this was published */
	__u32 compared;	    /* n_changes + 1 when the count was found to be right; 0: never */
	__u32 n_copies;	    /* sent since the loader last published a slice for an event */
	__u32 names;	    /* hashed into stack ids: the meaning of addresses may change */
};

/*
 * Address range that the kernel has found for a new mapping: nothing was mapped there at that time.
 */
struct unwind_area {
	__u64 start, end; /* end exclusive */
	__u64 time_ns;
};

#define UNWIND_AREAS 16 /* a power of two */

/* In struct unwind_process's names: unwind_perf_maps has the process. */
#define UNWIND_HAS_PERF_MAP 1U
#define UNWIND_PERF_MAPS    4096 /* at most */

/*
 * By tgid; without an element, all is 0. Replacements of code that the loader has seen, but not
 * published yet, are changes that BPF can't count. So it records the latest areas, and the loader
 * looks for code in them when it publishes. The next one may be half written, and older ones are
 * dropped: while the loader looks at a process's mappings, or an event waits for its turn, hardly
 * more than these are needed.
 */
struct unwind_change {
	__u32 count;
	__u32 n_copies; /* copies sent while no slice was published */
	__u64 n_areas;
	struct unwind_area areas[UNWIND_AREAS]; /* each at its number's remainder */
};

struct unwind_mapping {
	__u64 start, end;  /* addresses; end exclusive */
	__u64 pages_start; /* address of the first page's first byte, maybe of another file */
	__u32 first_page;
	__u32 n_pages; /* 0: no tables for this file */
};

struct unwind_page {
	__u32 first_cell; /* in the shard */
	__u16 shard;
	__u16 n_cells;
};

#define UNWIND_RULE_GAP	       0		/* the first rule */
#define UNWIND_RULE_NOT_YET    ~0U		/* no rule: its shard is not installed yet */
#define UNWIND_FIRST_PATTERN   UNWIND_MAX_RULES /* numbers of patterns start here */
#define UNWIND_ROW(low, place) ((__u16)((low) | (place) << 8))
#define UNWIND_ROW_LOW(row)    ((row)&0xff)
#define UNWIND_ROW_PLACE(row)  ((row) >> 8)
#define UNWIND_RULES_AT	       (UNWIND_PAGE_BLOCKS + 1) /* in a page's cells */

struct unwind_shard {
	__u16 cells[UNWIND_SHARD_CELLS];
};

/*
 * Rules that follow each other at the same distances in many places, such as those of a function's
 * first and last instructions: all from addresses of one block. offsets[0] is 0.
 */
struct unwind_pattern {
	__u8 offsets[UNWIND_PATTERN_STEPS]; /* from the row's address */
	__u16 rules[UNWIND_PATTERN_STEPS];
};

#define UNWIND_NO_STEP 255 /* unused offset */
#define UNWIND_PATTERN_END \
	254 /* the distance from a row in an earlier block: all steps are below */

static inline __attribute__((always_inline)) __u32 unwind_cell(const struct unwind_shard *shard,
							       __u32 at)
{
	return shard->cells[at & (UNWIND_SHARD_CELLS - 1)];
}

/*
 * Returns the number of the rule or pattern in a page for the low 16 bits of an address, by the
 * last row at or below them, and the distance from there. It may be one of an earlier block; the
 * page's first row applies to its first byte.
 */
static inline __attribute__((always_inline)) __u32
unwind_search(const struct unwind_shard *shard, __u32 first_cell, __u32 low, __u32 *distance)
{
	__u32 block = first_cell + (low >> UNWIND_BLOCK_SHIFT), row,
	      begin = unwind_cell(shard, block), first = first_cell + begin;
	struct search s = { .rest = unwind_cell(shard, block + 1) - begin };

	low &= (1U << UNWIND_BLOCK_SHIFT) - 1;
	for (int i = 0; i <= UNWIND_BLOCK_SHIFT && s.rest; i++) {
		row = unwind_cell(shard, first + search_at(&s));
		search_turn(&s, (__u64)low - UNWIND_ROW_LOW(row));
	}
	row = unwind_cell(shard, first + s.below - 1);
	*distance = s.below ? low - UNWIND_ROW_LOW(row) : UNWIND_PATTERN_END;
	return unwind_cell(shard, first_cell + UNWIND_RULES_AT + UNWIND_ROW_PLACE(row));
}

/* Returns the number of the rule at a distance from a row. */
static inline __attribute__((always_inline)) __u32
unwind_pattern_rule(const struct unwind_pattern *pattern, __u32 distance)
{
	__u32 rule = pattern->rules[0], is_beyond;

	if (distance > UNWIND_PATTERN_END)
		distance = UNWIND_PATTERN_END;
	for (int i = 1; i < UNWIND_PATTERN_STEPS; i++) {
		is_beyond = (distance - pattern->offsets[i]) >> 31; /* no branch for the verifier */
		__asm__("" : "+r"(is_beyond));
		rule += (pattern->rules[i] - rule) & (is_beyond - 1);
	}
	return rule;
}

/* Locations from which a register of a walk was read. */
#define UNWIND_OWN     0ULL  /* initial register of the walk */
#define UNWIND_NOWHERE ~0ULL /* constant, read from nowhere */

/* A walk in progress. */
struct unwind_state {
	__u64 ip, sp, bp, extra;
	bool ip_is_exact;   /* ip is not a return address: frame 0, or interrupted by a signal */
	bool sp_may_stay;   /* the next frame's stack may begin anywhere */
	bool has_registers; /* all of regs are valid: frame 0 */
	bool has_extra;
	bool is_behind_signal; /* ip_is_exact because of the frame before */
	bool uses_bp;	       /* its initial value has determined the walk's path */
	bool uses_extra;
	bool knows_returns; /* the slot's struct unwind_returns belongs to this walk */
	/* where the registers were read: an address, or UNWIND_OWN, UNWIND_NOWHERE */
	__u64 bp_at, extra_at;
	__u32 recorder; /* for unwind_note(); 0: recording has ended */
	struct unwind_process process;
	__u64 salt;		       /* of the slice */
	struct unwind_mapping mapping; /* mapping of the latest ip that was searched for */
	struct unwind_regs regs;
};

/*
 * Calls whose return addresses are not on the stack: return probes (uprobes, of any tracer) put the
 * address of a trampoline there, and the kernel keeps the true ones in a list, innermost call
 * first.
 */
struct unwind_return {
	__u64 sp; /* after the return, as the rules say it */
	__u64 address;
};

#define UNWIND_PROBE_PAGE    4096
#define UNWIND_PROBE_CODE    64 /* no trampoline has more bytes */
#define UNWIND_PROBE_COPY    16 /* nor a copied instruction, to its end */
#define UNWIND_MAX_RETURNS   16 /* recorded; a walk in BPF goes on along the list */
#define UNWIND_RETURNS_CHUNK 8	/* per call: the verifier walks each iteration of a loop */
#define UNWIND_MAX_PROBED    64 /* in the kernel's list: MAX_URETPROBE_DEPTH */

struct unwind_returns {
	__u64 trampoline; /* 0: there are none */
	__u64 next;	  /* in the kernel's list, not read yet; 0: the end */
	__u32 n;	  /* calls read; the recorded ones are the last of them */
	__u32 unused;
	struct unwind_return calls[UNWIND_MAX_RETURNS];
};

/*
 * A stack that BPF could not walk to its end, since the loader is not up to date: data for the
 * loader to walk it later. It begins as struct stack_def does.
 */
struct unwind_copy {
	__u64 id;
	__u32 kind;
	__u32 tgid;
	__u32 generation;
	__u16 n_words; /* none */
	__u16 reason;
	__u64 time_ns;
	__u64 map_size;
	__u32 change;  /* the process's count of changes: mappings of another count don't fit */
	__u32 n_bytes; /* bytes of the stack, from regs.sp on */
	__u32 piece;   /* it was read in aligned pieces of N bytes */
	__u32 holes;   /* a bit for each unreadable piece, which is zeros */
	__u64 leaf;    /* function that has just returned there; 0: none */
	struct unwind_regs regs;
	struct unwind_returns returns;
	__u8 bytes[];
};

/* A thread that is off CPU, for the loader to walk its user stack. */
struct unwind_thread {
	__u32 tgid, tid;
	__u64 generation;
	__u64 arrivals; /* how often it got a CPU: the rest is valid until that changes */
	struct unwind_regs regs;
	struct unwind_returns returns;
};

/* Up to a piece of each size may remain unused. */
#define UNWIND_COPY_PIECE  1024
#define UNWIND_COPY_PAGE   4096 /* the pieces of large ones: fewer for the verifier to look at */
#define UNWIND_COPY_SMALL  (3 << 10)
#define UNWIND_COPY_MEDIUM (9 << 10)
#define UNWIND_COPY_LARGE  (36 << 10)
#define UNWIND_MAX_COPIES  256 /* consecutive copies: a walk may end early forever */

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
	UNWIND_NO_STACK,    /* the task has none: before its program's start or after its end */
	UNWIND_RAN_ON,	    /* the thread had gone on when its stack was looked at from outside */
	UNWIND_NULL,	    /* a return address of 0: the first function of a coroutine */
	UNWIND_DENIED,	    /* memory of a process that the tracer may not look at from outside */
	UNWIND_PROBED,	    /* a return probe is being set or has been hit: the caller is unknown */
	UNWIND_REASONS,
};

struct unwind_settings {
	__u64 address_bits; /* unwind_address_bits() */
	bool by_cfi;
};

#endif
