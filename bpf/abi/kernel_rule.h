/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How one frame of a kernel stack is unwound: what the kernel's ORC table says about a return
 * address (Documentation/arch/x86/orc-unwinder.rst, arch/x86/include/asm/orc_types.h), as one
 * number. Its high half is the low half of the address: the kernel's text lies in the last two
 * gigabytes, so that sign extension gives back the rest.
 */
#ifndef ABI_KERNEL_RULE_H
#define ABI_KERNEL_RULE_H

#include "abi/types.h"

enum kernel_rule_kind {
	KERNEL_RULE_NONE,  /* no rule, or one that is not followed here */
	KERNEL_RULE_CALL,  /* the caller's return address lies below the caller's frame */
	KERNEL_RULE_REGS,  /* registers that an entry into the kernel saved */
	KERNEL_RULE_END,   /* where a kernel thread begins */
	KERNEL_RULE_KINDS, /* fits KERNEL_RULE_KIND */
};

#define KERNEL_RULE_KIND    3	     /* the bits of the kind */
#define KERNEL_RULE_FROM_BP (1 << 2) /* the caller's frame is found from rbp, not from rsp */
/* outside the scheduler's own code: part of a waiting task's stack */
#define KERNEL_RULE_SHOWN (1 << 3)

/* Offsets are in words. */
#define KERNEL_RULE_BP_SHIFT 8 /* where rbp was saved, down from the caller's frame; 0: it wasn't */
#define KERNEL_RULE_BP_MAX   255
#define KERNEL_RULE_SP_SHIFT 16 /* the caller's frame, up from the register */
#define KERNEL_RULE_SP_MAX   65535
#define KERNEL_RULE_IP_SHIFT 32

static inline __attribute__((always_inline)) bool kernel_rule_is_for(__u64 rule, __u64 ip)
{
	return (__u64)((__s64)rule >> KERNEL_RULE_IP_SHIFT) == ip;
}

/* 0 or 1 */
static inline __attribute__((always_inline)) __u32 kernel_rule_is_shown(__u64 rule)
{
	return (rule & KERNEL_RULE_SHOWN) / KERNEL_RULE_SHOWN;
}

static inline __attribute__((always_inline)) __u64 kernel_rule_sp_bytes(__u64 rule)
{
	return (rule >> KERNEL_RULE_SP_SHIFT & KERNEL_RULE_SP_MAX) * sizeof(__u64);
}

static inline __attribute__((always_inline)) __u64 kernel_rule_bp_bytes(__u64 rule)
{
	return (rule >> KERNEL_RULE_BP_SHIFT & KERNEL_RULE_BP_MAX) * sizeof(__u64);
}

/* ---- where the table is ---- */

enum kernel_symbol {
	KERNEL_ORC_IPS,
	KERNEL_ORC_IPS_END,
	KERNEL_ORC_ROWS,
	KERNEL_TEXT,
	KERNEL_TEXT_END,
	KERNEL_SCHED_TEXT,
	KERNEL_SCHED_TEXT_END,
	KERNEL_LOCK_TEXT,
	KERNEL_LOCK_TEXT_END,
	KERNEL_SCHEDULE,
	KERNEL_NEEDED,				  /* number of symbols that must exist */
	KERNEL_RETURN_TO_HANDLER = KERNEL_NEEDED, /* return addresses that replace the real ones: */
	KERNEL_RETHOOK,				  /* of traced functions */
	KERNEL_KRETPROBE,
	KERNEL_SYMBOLS,
};

struct kernel_tables {
	__u64 symbols[KERNEL_SYMBOLS];
	__u32 n_rows;			   /* 0: the kernel's stacks can't be walked by it here */
	__u32 reg_sp, reg_bp, reg_prev_sp; /* numbers of registers in rows */
};

#endif
