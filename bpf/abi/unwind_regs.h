/* SPDX-License-Identifier: GPL-2.0-only */
/* Initial registers of a walk of a user stack, and the walker's architecture-specific part. */
#ifndef ABI_UNWIND_REGS_H
#define ABI_UNWIND_REGS_H

#include "abi/types.h"

#if defined(__TARGET_ARCH_x86) || defined(__x86_64__)
#define UNWIND_ARCH	     "abi/unwind_x86.h"
#define HOTSPOT_ARCH	     "abi/hotspot_x86.h"
#define UNWIND_EXTRA	     3 /* rbx: tracked besides rsp and rbp */
#define UNWIND_IS_ARM64	     0
#define unwind_link_of(regs) ((void)(regs), 0ULL)
#define UNWIND_BP_UNIT	     1
#define UNWIND_RECORD_BELOW  0
/* bytes at the end of a call's stack frame that hold saved registers */
#define UNWIND_SAVED_BYTES 56

/* Registers in the kernel's layout (struct pt_regs). */
struct unwind_regs {
	__u64 r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di;
	__u64 orig_ax, ip, cs, flags, sp, ss;
	__u64 thread_base; /* base of thread-local storage (fs); 0: not read */
};

#else
#define UNWIND_ARCH	     "abi/unwind_arm64.h"
#define HOTSPOT_ARCH	     "abi/hotspot_arm64.h"
#define UNWIND_EXTRA	     30 /* x30: tracked besides sp and x29 */
#define UNWIND_IS_ARM64	     1
#define unwind_link_of(regs) ((regs)->link)
#define UNWIND_BP_UNIT	     8 /* unit of unwind_rule.bp_off in bytes */
/* distance below sp at which a frame record may lie: Go's is one word below */
#define UNWIND_RECORD_BELOW  8
#define UNWIND_SAVED_BYTES   0 /* saved registers are not at the frame's end */

/* Registers in the kernel's layout (struct user_pt_regs): bp is x29, link x30. */
struct unwind_regs {
	__u64 x[29], bp, link, sp, ip, flags;
	__u64 thread_base; /* base of thread-local storage; 0: not read */
};
#endif

#define UNWIND_REGS_BYTES __builtin_offsetof(struct unwind_regs, thread_base)

#ifndef __bpf__
#ifdef __aarch64__
#define UNWIND_STRIP_SIGNATURE "mov x30, %0; hint #7; mov %0, x30" /* xpaclri */
#define UNWIND_STRIP_CLOBBERS  "x30"
#else
#define UNWIND_STRIP_SIGNATURE ""
#define UNWIND_STRIP_CLOBBERS  "memory"
#endif

/*
 * Returns the mask of the bits that user addresses have on this machine. On arm64 higher bits may
 * hold a signature (Arm ARM, D8.10: pointer authentication), which xpaclri removes; without
 * signatures it does nothing.
 */
static inline __u64 unwind_address_bits(void)
{
	__u64 address = (1ULL << 55) - 1;

	asm(UNWIND_STRIP_SIGNATURE : "+r"(address) : : UNWIND_STRIP_CLOBBERS);
	return address;
}
#endif

#endif
