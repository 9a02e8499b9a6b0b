/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The registers that a walk of a user stack begins with, and the walker's part for the architecture
 * that this is compiled for: the only place that depends on it.
 */
#ifndef ABI_UNWIND_REGS_H
#define ABI_UNWIND_REGS_H

#include "abi/types.h"

#if defined(__TARGET_ARCH_x86) || defined(__x86_64__)
#define UNWIND_ARCH	    "abi/unwind_x86.h"
#define UNWIND_EXTRA	    3 /* rbx: the register that is followed besides rsp and rbp */
#define UNWIND_BP_UNIT	    1
#define UNWIND_RECORD_BELOW 0
/* bytes at the end of a call's stack frame that hold saved registers */
#define UNWIND_SAVED_BYTES 56

/* As the kernel saves them (struct pt_regs). */
struct unwind_regs {
	__u64 r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di;
	__u64 orig_ax, ip, cs, flags, sp, ss;
	__u64 thread_base; /* after the registers: base of thread-local storage (fs); 0: not read */
};

#else
#define UNWIND_ARCH	    "abi/unwind_arm64.h"
#define UNWIND_EXTRA	    30 /* x30 */
#define UNWIND_BP_UNIT	    8  /* bytes, of unwind_rule.bp_off */
/* how far below sp a frame record may lie: Go's lies one word below */
#define UNWIND_RECORD_BELOW 8
#define UNWIND_SAVED_BYTES  0 /* they lie elsewhere */

/* As the kernel saves them (struct user_pt_regs): bp is x29, link x30. */
struct unwind_regs {
	__u64 x[29], bp, link, sp, ip, flags;
	__u64 thread_base; /* 0: not looked at */
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
 * Returns the bits that addresses of programs have on this machine. On arm64 those above may hold a
 * signature (Arm ARM, D8.10: pointer authentication), which an instruction takes out; it does
 * nothing if there are no signatures.
 */
static inline __u64 unwind_address_bits(void)
{
	__u64 address = (1ULL << 55) - 1;

	asm(UNWIND_STRIP_SIGNATURE : "+r"(address) : : UNWIND_STRIP_CLOBBERS);
	return address;
}
#endif

#endif
