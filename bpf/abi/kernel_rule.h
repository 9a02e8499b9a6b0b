/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rule that unwinds one frame of a kernel stack: the row of the kernel's ORC table for a return
 * address (Documentation/arch/x86/orc-unwinder.rst, arch/x86/include/asm/orc_types.h), packed into
 * 64 bits. The high 32 bits are the low half of the address; sign extension restores the full
 * address, since the kernel's text is in the last two gigabytes.
 */
#ifndef ABI_KERNEL_RULE_H
#define ABI_KERNEL_RULE_H

#include "abi/types.h"

enum kernel_rule_kind {
	KERNEL_RULE_NONE,  /* no rule, or an unsupported one */
	KERNEL_RULE_CALL,  /* the caller's return address lies below the caller's frame */
	KERNEL_RULE_REGS,  /* registers that an entry into the kernel saved */
	KERNEL_RULE_END,   /* outermost frame of a kernel thread */
	KERNEL_RULE_KINDS, /* must fit into the bits KERNEL_RULE_KIND */
};

#define KERNEL_RULE_KIND    3	     /* mask of the kind */
#define KERNEL_RULE_FROM_BP (1 << 2) /* the caller's frame is found from rbp, not from rsp */
/* not scheduler code: shown in a waiting task's stack */
#define KERNEL_RULE_SHOWN (1 << 3)

/* Offsets are in words. */
#define KERNEL_RULE_BP_SHIFT 8 /* location of saved rbp, below the caller's frame; 0: not saved */
#define KERNEL_RULE_BP_MAX   255
#define KERNEL_RULE_SP_SHIFT 16 /* caller's frame, above the register */
#define KERNEL_RULE_SP_MAX   65535
#define KERNEL_RULE_IP_SHIFT 32

static inline __attribute__((always_inline)) bool kernel_rule_is_for(__u64 rule, __u64 ip)
{
	return (__u64)((__s64)rule >> KERNEL_RULE_IP_SHIFT) == ip;
}

/* Returns 1 if the frame is shown, else 0. */
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

/* ---- location of the ORC table ---- */

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
	KERNEL_RETURN_TO_HANDLER = KERNEL_NEEDED, /* from here on: return trampolines */
	KERNEL_RETHOOK,
	KERNEL_KRETPROBE,
	KERNEL_SYMBOLS,
};

struct kernel_tables {
	__u64 symbols[KERNEL_SYMBOLS];
	__u32 n_rows;			   /* 0: kernel stacks can't be walked by the ORC table */
	__u32 reg_sp, reg_bp, reg_prev_sp; /* register numbers used in ORC rows */
};

#endif
