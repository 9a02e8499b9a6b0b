/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Layout of unwind tables in maps, written by the loader (unwind/unwind_tables.c, unwind_procs.c
 * and stacks/unwind_maps.c) and read by the walker (unwind.bpf.h).
 *
 *	process:  tgid -> a slice of mappings, ascending, and the change count for which it holds
 *	mapping:  addresses -> a run of pages, one per 64 KiB of the file's text
 *	page:     consecutive cells of one shard
 *	rule:     struct unwind_rule, shared by all files
 *	pattern:  some rules that follow each other closely, also shared
 *
 * A cell has 16 bits. A page has these cells: for each block of 256 bytes, the index in the page of
 * the block's first row; the end of the last block's rows; the numbers of the page's rules and
 * patterns; the rows. A row has the low 8 bits of the first ELF address that it applies to and,
 * above them, the index of its rule or pattern in the page. Since an ARRAY map rounds its elements
 * up to 8 bytes, cells are stored in shards: arrays of one element, created as needed.
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
#define UNWIND_PAGE_RULES    256	/* maximum rules of a page */
#define UNWIND_SHARD_CELLS   (1U << 18) /* 512 KiB */
#define UNWIND_MAX_SHARDS    512
#define UNWIND_SHARD_PAGES   512 /* minimum capacity of a shard, in pages of real code */
#define UNWIND_MAX_PAGES     (UNWIND_MAX_SHARDS * UNWIND_SHARD_PAGES)
#define UNWIND_MAX_RULES     (1U << UNWIND_RULE_BITS)
#define UNWIND_MAX_PATTERNS  (1U << 13)
#define UNWIND_PATTERN_STEPS 8
#define UNWIND_SLICE_BITS    12 /* a process has fewer than 2^12 executable mappings */

/*
 * Cache of recently found rules, by address and slice: the low bits of a word hold the rule's
 * number, the high bits the hash of address and slice, so no lock is needed. Within a slice no two
 * addresses less than 2^48 apart share those bits of the hash: it is a multiplication by 2^64 over
 * the golden ratio, whose multiples are spread out (Knuth, TAOCP 3, 6.4).
 */
#define UNWIND_RULE_BITS   14
#define UNWIND_RECENT_BITS 14
#define UNWIND_RECENT	   (1U << UNWIND_RECENT_BITS)
#define UNWIND_RECENT_HASH 0x9e3779b97f4a7c15ULL

/*
 * Slices follow mmap(2) and munmap(2) with the loader's delay. If new code replaces known code, the
 * old tables are not only incomplete but wrong, so BPF counts these changes per process, and
 * doesn't use a slice that is older than the latest change. Publishing replaces the whole element,
 * so the count is in a separate table; to avoid a lookup there for each walk, BPF records in the
 * element that the counts were equal (compared) and that changes may have followed (n_changes).
 */
struct unwind_process {
	__u32 first, count; /* the process's mappings: index of the first, number */
	__u32 change;	    /* count of changes for which the slice is valid */
	__u32 serial;	    /* serial number of the slice's contents, never reused */
	__u32 n_changes;    /* changes since this element was published */
	__u32 compared;	    /* n_changes + 1 when BPF last found the counts equal; 0: never */
	__u32 n_copies;	    /* copies sent since the loader last published a slice for an event */
	__u32 names;	    /* hashed into stack ids: changes if addresses may change meaning */
};

/* Address range that the kernel chose for a new mapping; nothing was mapped there at that time. */
struct unwind_area {
	__u64 start, end; /* end exclusive */
	__u64 time_ns;
};

#define UNWIND_AREAS 16 /* a power of two */

/* Bit in unwind_process.names: unwind_perf_maps has the process. */
#define UNWIND_HAS_PERF_MAP 1U
#define UNWIND_PERF_MAPS    4096 /* capacity of unwind_perf_maps */

/*
 * Changes of a process, by tgid; no element: all is 0. BPF can't count replacements of code that
 * the loader has seen but not published yet. So BPF records the latest areas, and the loader looks
 * for code in them when it publishes. The oldest area may be half overwritten by the next one. The
 * array covers the time in which the loader reads a process's mappings or an event is queued.
 */
struct unwind_change {
	__u32 count;
	__u32 n_copies; /* copies sent while no slice was published */
	__u64 n_areas;
	struct unwind_area areas[UNWIND_AREAS]; /* area number n is at index n % UNWIND_AREAS */
};

struct unwind_mapping {
	__u64 start, end;  /* addresses; end exclusive */
	__u64 pages_start; /* address of the first page's start, which may be in another file */
	__u32 first_page;
	__u32 n_pages; /* 0: no tables for this file */
};

struct unwind_page {
	__u32 first_cell; /* index of its first cell in the shard */
	__u16 shard;
	__u16 n_cells;
};

#define UNWIND_RULE_GAP	       0		/* number of the first rule */
#define UNWIND_RULE_NOT_YET    ~0U		/* no rule: the shard is not installed yet */
#define UNWIND_FIRST_PATTERN   UNWIND_MAX_RULES /* numbers of patterns start here */
#define UNWIND_ROW(low, place) ((__u16)((low) | (place) << 8))
#define UNWIND_ROW_LOW(row)    ((row)&0xff)
#define UNWIND_ROW_PLACE(row)  ((row) >> 8)
#define UNWIND_RULES_AT	       (UNWIND_PAGE_BLOCKS + 1) /* index of the rules in a page's cells */

struct unwind_shard {
	__u16 cells[UNWIND_SHARD_CELLS];
};

/*
 * Rules that follow each other at the same distances in many places, such as for the first and last
 * instructions of functions; all of their addresses are in one block. offsets[0] is 0.
 */
struct unwind_pattern {
	__u8 offsets[UNWIND_PATTERN_STEPS]; /* distances from the row's address */
	__u16 rules[UNWIND_PATTERN_STEPS];
};

#define UNWIND_NO_STEP 255 /* marks an unused offset */
#define UNWIND_PATTERN_END \
	254 /* distance from a row in an earlier block: greater than all offsets */

static inline __attribute__((always_inline)) __u32 unwind_cell(const struct unwind_shard *shard,
							       __u32 at)
{
	return shard->cells[at & (UNWIND_SHARD_CELLS - 1)];
}

/*
 * Returns the number of the rule or pattern for the low 16 bits of an address, from the page's last
 * row at or below them; *distance: from that row. The row may be in an earlier block; the page's
 * first row applies to its first byte.
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
	__u32 rule = pattern->rules[0], difference;

	if (distance > UNWIND_PATTERN_END)
		distance = UNWIND_PATTERN_END;
	for (int i = 1; i < UNWIND_PATTERN_STEPS; i++) {
		difference = distance - pattern->offsets[i];
		barrier_var(difference); /* else compilers make a branch of its sign */
		rule += (pattern->rules[i] - rule) & ((difference >> 31) - 1);
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
	bool is_behind_signal; /* ip was interrupted by the signal whose frame was walked before */
	bool uses_bp;	       /* the initial bp has determined the walk's path */
	bool uses_extra;
	bool knows_returns; /* the slot's struct unwind_returns belongs to this walk */
	bool is_framed;	    /* the last step followed a frame record without a rule */
	bool sp_is_guess;   /* arm64: sp comes from a record without a rule, and may be too low */
	/* locations from which bp and extra were read: an address, UNWIND_OWN or UNWIND_NOWHERE */
	__u64 bp_at, extra_at;
	__u32 recorder; /* for unwind_note(); 0: recording has ended */
	__u32 runtime;	/* enum runtime_kind of the generated code that was reached; 0: none */
	struct unwind_process process;
	__u64 salt;		       /* salt of the slice, for the cache of rules */
	struct unwind_mapping mapping; /* mapping of the latest ip that was searched for */
	struct unwind_regs regs;
};

/*
 * A call whose return address is not on the stack: a return probe (uprobe, of any tracer) has
 * replaced it by the address of a trampoline; the kernel has the true addresses in a list,
 * innermost call first.
 */
struct unwind_return {
	__u64 sp; /* stack pointer after the return, according to the rules */
	__u64 address;
};

#define UNWIND_PROBE_PAGE    4096
#define UNWIND_PROBE_CODE    64 /* maximum bytes of a trampoline */
#define UNWIND_PROBE_COPY    16 /* maximum bytes of a copied instruction, to its end */
#define UNWIND_MAX_RETURNS   16 /* maximum recorded calls; a walk in BPF reads on in the list */
#define UNWIND_RETURNS_CHUNK 8	/* entries per call: the verifier walks each iteration of a loop */
#define UNWIND_MAX_PROBED    64 /* maximum length of the kernel's list: MAX_URETPROBE_DEPTH */

struct unwind_returns {
	__u64 trampoline; /* address of the trampoline; 0: no return probes */
	__u64 next;	  /* next unread element of the kernel's list; 0: the end */
	__u32 n;	  /* number of calls read; calls[] has the last of them */
	__u32 unused;
	struct unwind_return calls[UNWIND_MAX_RETURNS];
};

/*
 * Copy of a stack that BPF could not walk to its end because the loader's tables were outdated; the
 * loader walks it later. Begins like struct stack_def.
 */
struct unwind_copy {
	__u64 id;
	__u32 kind;
	__u32 tgid;
	__u32 generation;
	__u16 n_words; /* always 0 */
	__u16 reason;
	__u64 time_ns;
	__u64 map_size;
	__u32 change;  /* the process's count of changes: only mappings of this count apply */
	__u32 n_bytes; /* bytes of the stack, from regs.sp on */
	__u32 piece;   /* size in bytes of the aligned pieces in which the stack was read */
	__u32 holes;   /* bit i: piece i was unreadable and is zeros */
	__u64 leaf;    /* function that has just returned to regs.ip; 0: none */
	struct unwind_regs regs;
	struct unwind_returns returns;
	__u8 bytes[];
};

/* An off-CPU thread whose user stack the loader walks. */
struct unwind_thread {
	__u64 stack_id;
	__u32 tgid, tid;
	__u64 generation;
	/* number of times that the thread got a CPU; if changed, the following is outdated */
	__u64 arrivals;
	struct unwind_regs regs;
	struct unwind_returns returns;
};

/* Sizes of copies in bytes; up to one piece of each size may remain unused. */
#define UNWIND_COPY_PIECE  1024
#define UNWIND_COPY_PAGE   4096 /* piece size of large copies: fewer pieces for the verifier */
#define UNWIND_COPY_SMALL  (3 << 10)
#define UNWIND_COPY_MEDIUM (9 << 10)
#define UNWIND_COPY_LARGE  (36 << 10)
#define UNWIND_MAX_COPIES  256 /* maximum consecutive copies: some walks always end early */

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
	UNWIND_NO_STACK,    /* the task has no user stack: it begins or exits */
	UNWIND_RAN_ON,	    /* the thread continued while its stack was read from outside */
	UNWIND_NULL,	    /* a return address of 0: the first function of a coroutine */
	UNWIND_DENIED,	    /* the tracer may not read the process's memory */
	UNWIND_PROBED,	    /* a return probe is being set or has been hit: the caller is unknown */
	UNWIND_REASONS,
};

struct unwind_settings {
	__u64 address_bits; /* result of unwind_address_bits() */
	bool by_cfi;
};

#endif
