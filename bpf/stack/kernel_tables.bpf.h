/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's own unwind table (ORC), read from the kernel's memory: a sorted array of the
 * addresses (as distances) from which rows apply, and an array of the rows. Rules of return
 * addresses are cached, so the table is searched once per address.
 *
 * Only the kernel's core text is looked up, since modules, BPF programs and trampolines can be
 * freed; kernel_walk.bpf.h handles those.
 */
#ifndef KERNEL_TABLES_BPF_H
#define KERNEL_TABLES_BPF_H

#include "lib/compat.bpf.h"
#include "abi/kernel_rule.h"
#include "abi/search.h"

#define KERNEL_SYMBOL_BYTES 24

const char kernel_symbol_names[KERNEL_SYMBOLS][KERNEL_SYMBOL_BYTES] = {
	[KERNEL_ORC_IPS] = "__start_orc_unwind_ip",
	[KERNEL_ORC_IPS_END] = "__stop_orc_unwind_ip",
	[KERNEL_ORC_ROWS] = "__start_orc_unwind",
	[KERNEL_TEXT] = "_stext",
	[KERNEL_TEXT_END] = "_etext",
	[KERNEL_SCHED_TEXT] = "__sched_text_start",
	[KERNEL_SCHED_TEXT_END] = "__sched_text_end",
	[KERNEL_LOCK_TEXT] = "__lock_text_start",
	[KERNEL_LOCK_TEXT_END] = "__lock_text_end",
	[KERNEL_SCHEDULE] = "schedule",
	[KERNEL_RETURN_TO_HANDLER] = "return_to_handler",
	[KERNEL_RETHOOK] = "arch_rethook_trampoline",
	[KERNEL_KRETPROBE] = "__kretprobe_trampoline",
};

/* Filled by kernel_tables_find. */
struct kernel_tables kernel_tables SEC(".data.kernel_tables") = {};

#define KERNEL_RECENT_BITS 12

/* Cached rules, indexed by the hash of their address. */
__u64 kernel_recent[1 << KERNEL_RECENT_BITS] SEC(".data.kernel_recent") = {};

/* struct orc_entry. flags: two registers of four bits, and the type. */
struct kernel_row {
	__s16 sp_offset, bp_offset;
	__u16 flags;
};

#define ROW_SP_REG(row) ((row)->flags & 15)
#define ROW_BP_REG(row) ((row)->flags >> 4 & 15)
#define ROW_REG_NONE	0

/* Types were renumbered in 6.4 (commit fb799447ae29); since then each row has a type. */
#define ROW_TYPE(row)	  ((row)->flags >> 8 & 7)
#define ROW_TYPE_END	  1
#define ROW_TYPE_CALL	  2
#define ROW_TYPE_REGS	  3
#define ROW_OLD_TYPE(row) ((row)->flags >> 8 & 3)
#define ROW_OLD_CALL	  0
#define ROW_OLD_REGS	  1
#define ROW_OLD_END(row)  ((row)->flags >> 10 & 1)

#define ROWS_ARE_OLD bpf_core_field_exists(((struct orc_entry___before6_4 *)0)->end)

#define KERNEL_SEARCH_TURNS 6 /* steps per call of a global function, which is verified once */
#define KERNEL_SEARCH_CALLS 4
#define KERNEL_SEARCH_ROWS  (1 << KERNEL_SEARCH_TURNS * KERNEL_SEARCH_CALLS) /* enough for all */

static __always_inline bool kernel_is_between(__u64 ip, enum kernel_symbol from,
					      enum kernel_symbol to)
{
	return ip >= kernel_tables.symbols[from] && ip < kernel_tables.symbols[to];
}

static __always_inline enum kernel_rule_kind kernel_row_kind(const struct kernel_row *row)
{
	__u32 type = ROW_TYPE(row);

	if (!ROWS_ARE_OLD)
		return type == ROW_TYPE_CALL   ? KERNEL_RULE_CALL
		       : type == ROW_TYPE_REGS ? KERNEL_RULE_REGS
		       : type == ROW_TYPE_END  ? KERNEL_RULE_END
					       : KERNEL_RULE_NONE;
	type = ROW_OLD_TYPE(row);
	if (ROW_SP_REG(row) == ROW_REG_NONE)
		return ROW_OLD_END(row) ? KERNEL_RULE_END : KERNEL_RULE_NONE;
	return type == ROW_OLD_CALL   ? KERNEL_RULE_CALL
	       : type == ROW_OLD_REGS ? KERNEL_RULE_REGS
				      : KERNEL_RULE_NONE;
}

/* Returns an offset in words; max + 1 if it is not a multiple of a word, or out of range. */
static __always_inline __u64 kernel_words(__s64 bytes, __u32 max)
{
	__u64 words = (__u64)bytes >> 3; /* large if negative */

	return bytes & 7 || words > max ? max + 1ULL : words;
}

static __always_inline __u64 kernel_compile_frame(const struct kernel_row *row, __u64 rule)
{
	__u64 sp_words = kernel_words(row->sp_offset, KERNEL_RULE_SP_MAX), bp_words = 0;

	if (ROW_SP_REG(row) == kernel_tables.reg_bp)
		rule |= KERNEL_RULE_FROM_BP;
	else if (ROW_SP_REG(row) != kernel_tables.reg_sp)
		return KERNEL_RULE_NONE;
	if (ROW_BP_REG(row) == kernel_tables.reg_prev_sp)
		bp_words = kernel_words(-row->bp_offset, KERNEL_RULE_BP_MAX);
	else if (ROW_BP_REG(row) != ROW_REG_NONE)
		return KERNEL_RULE_NONE;
	if (sp_words > KERNEL_RULE_SP_MAX || bp_words > KERNEL_RULE_BP_MAX)
		return KERNEL_RULE_NONE;
	return rule | sp_words << KERNEL_RULE_SP_SHIFT | bp_words << KERNEL_RULE_BP_SHIFT;
}

/*
 * Does some steps of the search for an address. State and result hold search.below in the upper
 * half and search.rest in the lower. Unrolled: compilers make loops that are entered by a jump into
 * their middle, which 6.1 rejects.
 */
__noinline __u64 kernel_search_some(__u64 ip, __u64 state)
{
	struct search search = { .below = state >> 32, .rest = (__u32)state };
	__u64 at;
	__s32 distance;

#pragma unroll
	for (int i = 0; i < KERNEL_SEARCH_TURNS; i++) {
		at = kernel_tables.symbols[KERNEL_ORC_IPS] + search_at(&search) * sizeof(distance);
		if (bpf_probe_read_kernel(&distance, sizeof(distance), (void *)at))
			return 0;
		search_turn(&search, ip - (at + distance));
	}
	return search.below << 32 | search.rest;
}

/* Returns the number of rows at or below an address. */
static __always_inline __u32 kernel_search(__u64 ip)
{
	__u64 state = kernel_tables.n_rows;

	for (int i = 0; i < KERNEL_SEARCH_CALLS; i++)
		state = kernel_search_some(ip, state);
	return state >> 32;
}

static __always_inline bool kernel_find_row(__u64 ip, struct kernel_row *row)
{
	__u32 index = kernel_search(ip);
	__u64 at = kernel_tables.symbols[KERNEL_ORC_ROWS] + (__u64)(index - 1) * sizeof(*row);

	return index && !bpf_probe_read_kernel(row, sizeof(*row), (void *)at);
}

static __always_inline bool kernel_stands_for_another(__u64 ip)
{
	for (int i = KERNEL_NEEDED; i < KERNEL_SYMBOLS; i++)
		if (ip == kernel_tables.symbols[i])
			return true;
	return false;
}

/* Returns the rule for a return address, from the row of the call before it. */
__noinline __u64 kernel_compile(__u64 ip)
{
	__u64 rule = ip << KERNEL_RULE_IP_SHIFT;
	struct kernel_row row = {};

	if (!kernel_is_between(ip - 1, KERNEL_TEXT, KERNEL_TEXT_END) ||
	    kernel_stands_for_another(ip) || !kernel_find_row(ip - 1, &row))
		return KERNEL_RULE_NONE;
	if (!kernel_is_between(ip, KERNEL_SCHED_TEXT, KERNEL_SCHED_TEXT_END) &&
	    !kernel_is_between(ip, KERNEL_LOCK_TEXT, KERNEL_LOCK_TEXT_END))
		rule |= KERNEL_RULE_SHOWN;
	rule |= kernel_row_kind(&row);
	if ((rule & KERNEL_RULE_KIND) == KERNEL_RULE_NONE)
		return KERNEL_RULE_NONE;
	return (rule & KERNEL_RULE_KIND) == KERNEL_RULE_END ? rule
							    : kernel_compile_frame(&row, rule);
}

static __always_inline __u64 kernel_find_rule(__u64 ip)
{
	__u32 place = (__u32)ip * 0x9e3779b1U >> (32 - KERNEL_RECENT_BITS);
	volatile __u64 *recent = &kernel_recent[place];
	__u64 rule = *recent;

	if (kernel_rule_is_for(rule, ip))
		return rule;
	rule = kernel_compile(ip);
	if (rule)
		*recent = rule;
	return rule;
}

/* ---- location of the table ---- */

static __always_inline bool kernel_find_symbols(void)
{
	__u64 addr;

	for (int i = 0; i < KERNEL_SYMBOLS; i++) {
		addr = 0;
		if (bpf_kallsyms_lookup_name(kernel_symbol_names[i], KERNEL_SYMBOL_BYTES, 0,
					     &addr) &&
		    i < KERNEL_NEEDED)
			return false;
		kernel_tables.symbols[i] = addr;
	}
	return true;
}

/*
 * Detects which of two numberings of registers the rows use: at the start of schedule(), the
 * caller's frame is one word above rsp.
 */
static __always_inline bool kernel_find_registers(void)
{
	struct kernel_row row = {};

	if (!kernel_find_row(kernel_tables.symbols[KERNEL_SCHEDULE], &row) ||
	    kernel_row_kind(&row) != KERNEL_RULE_CALL || row.sp_offset != sizeof(__u64) ||
	    ROW_BP_REG(&row) != ROW_REG_NONE)
		return false;
	kernel_tables.reg_bp = 4;
	kernel_tables.reg_sp = ROW_SP_REG(&row);
	kernel_tables.reg_prev_sp = kernel_tables.reg_sp == 5 ? 1 : 8;
	return kernel_tables.reg_sp == 5 || kernel_tables.reg_sp == 3;
}

/* Finds the table; run once by the loader. Returns 1 if found. */
SEC("syscall")
int kernel_tables_find(void *ctx)
{
	__u64 bytes;

	if (!kernel_find_symbols())
		return 0;
	bytes = kernel_tables.symbols[KERNEL_ORC_IPS_END] - kernel_tables.symbols[KERNEL_ORC_IPS];
	kernel_tables.n_rows = bytes / sizeof(__s32);
	if (kernel_tables.n_rows < KERNEL_SEARCH_ROWS && kernel_find_registers())
		return 1;
	kernel_tables.n_rows = 0;
	return 0;
}

#endif
