/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rule that unwinds one frame of a user stack, shared by BPF and the loader: DWARF call frame
 * information, reduced to the forms that compilers use. "rsp" and "rbp" stand for sp and x29 on
 * arm64, too. The caller's rsp is always the CFA. On x86-64 the return address is at CFA - 8 unless
 * the kind differs. Any other rule is UNWIND_BAD. A rule has eight bytes and compares as one 64-bit
 * number: fields that its kind does not use are zero.
 */
#ifndef ABI_UNWIND_RULE_H
#define ABI_UNWIND_RULE_H

#include "abi/types.h"

enum unwind_kind {
	UNWIND_GAP,	 /* no unwind information here */
	UNWIND_SP,	 /* CFA = rsp + cfa_off */
	UNWIND_BP,	 /* CFA = rbp + cfa_off */
	UNWIND_PLT,	 /* CFA = rsp + 8 + ((rip & 15) >= cfa_off ? 8 : 0) */
	UNWIND_SP_DEREF, /* CFA = *(rsp + unwind_deref_at()) + unwind_deref_plus() */
	UNWIND_BP_DEREF, /* CFA = *(rbp + unwind_deref_at()) + unwind_deref_plus() */
	UNWIND_REG,	 /* CFA = register unwind_reg() + unwind_reg_plus(): see unwind_walk.h */
	UNWIND_RA_REG, /* CFA = rsp + unwind_reg_plus(), return address in register unwind_reg() */
	UNWIND_CLONE,  /* after clone's system call: the parent, or the child's outermost frame */
	UNWIND_SIGNAL, /* rsp points into an rt_sigframe, which has all registers */
	UNWIND_END,    /* no caller: the outermost frame */
	UNWIND_BAD,    /* has unwind information, in an unsupported form */
	UNWIND_SP_EXACT, /* as UNWIND_SP, for an interrupted caller: see unwind_go_interrupted() */
	UNWIND_SWITCH,	 /* CFA = rbp + cfa_off, on another stack: rsp may be anywhere */
	UNWIND_GO_STACK, /* move to the goroutine's stack, by its thread: see unwind_pack_go() */
	UNWIND_GO_CALL,	 /* to the goroutine's stack, from C: g and used bytes at rsp + cfa_off */
	UNWIND_KINDS,
};

enum unwind_bp_kind {
	UNWIND_BP_SAME,	  /* caller's rbp is still in rbp */
	UNWIND_BP_AT_CFA, /* caller's rbp was saved at CFA + bp_off */
	UNWIND_BP_AT_BP,  /* caller's rbp was saved at rbp + bp_off, in frames that GCC realigns */
	UNWIND_BP_LOST,	  /* caller's rbp is unknown: harmless until a frame needs it */
	UNWIND_BP_KINDS,
};

/*
 * Location of the caller's rbx, on x86-64. Set only in files with a CFA that is computed from rbx,
 * such as the dynamic linker (lazy binding): elsewhere it would only multiply the rules.
 */
enum unwind_bx_place {
	UNWIND_BX_LOST,
	UNWIND_BX_SAME,
	UNWIND_BX_AT_CFA, /* this value and higher ones: saved at CFA - 8 * value */
};

/* Location of the return address, on arm64. Other values: saved at CFA - 8 * value. */
enum unwind_ra_place {
	UNWIND_RA_BEHIND_BP,	/* at CFA + bp_off + 8: after the slot of x29 */
	UNWIND_RA_IN_LINK = 63, /* still in x30 */
};

#define UNWIND_EXTRA_PLACES 64 /* six bits */

struct unwind_rule {
	__u8 kind;	  /* enum unwind_kind */
	__u8 bp_kind : 2; /* enum unwind_bp_kind */
	/* location of one more register: enum unwind_bx_place, unwind_ra_place */
	__u8 extra_place : 6;
	__s16 bp_off;  /* bytes; on arm64 words of 8 bytes */
	__s32 cfa_off; /* bytes; UNWIND_*_DEREF and UNWIND_*REG pack two numbers into it */
};

/* Offsets for UNWIND_SIGNAL on x86-64, in bytes from the ucontext (kernel ABI). */
#define UNWIND_UCONTEXT_RBP 120 /* followed by rbx */
#define UNWIND_UCONTEXT_RSP 160
#define UNWIND_UCONTEXT_RIP 168

/* DWARF register numbers. */
#define UNWIND_RBX  3
#define UNWIND_LINK 30

static inline __s32 unwind_pack_deref(__s16 at, __s16 plus)
{
	return (__s32)((__u32)(__u16)at | (__u32)(__u16)plus << 16);
}

static inline __s32 unwind_deref_at(__s32 cfa_off)
{
	return (__s16)cfa_off;
}

static inline __s32 unwind_deref_plus(__s32 cfa_off)
{
	return cfa_off >> 16;
}

/*
 * Packs an offset and a register. reg: DWARF number (psABI AMD64, figure 3.36; AADWARF64): on
 * x86-64 0..15 are rax rdx rcx rbx rsi rdi rbp rsp r8..
 */
static inline __s32 unwind_pack_reg(__u8 reg, __s32 plus)
{
	return (__s32)((__u32)plus << 8 | reg);
}

static inline __u32 unwind_reg(__s32 cfa_off)
{
	return (__u8)cfa_off;
}

static inline __s32 unwind_reg_plus(__s32 cfa_off)
{
	return cfa_off >> 8;
}

/*
 * Rules of UNWIND_GO_STACK hold offsets of Go's fields. cfa_off: g.m, g.sched.sp and m.curg, see
 * unwind_pack_go(). bp_off: on x86-64, offset of g from the base of thread-local storage; on arm64,
 * also in UNWIND_GO_CALL, words of the frame on the goroutine's stack. extra_place: words from
 * sched.sp to sched.bp. bp_kind: contents of the frame on the goroutine's stack:
 */
enum unwind_go {
	UNWIND_GO_CALLED, /* the return address */
	UNWIND_GO_FRAMED, /* the caller's rbp, and the return address */
	UNWIND_GO_SAVED,  /* nothing: the return address is after sched.sp */
};

#define UNWIND_GO_STACK_HIGH 8 /* offset of g.stack.hi in g, in all releases of Go */

static inline __s32 unwind_pack_go(__u8 m, __u8 sp, __u16 curg)
{
	return (__s32)(m | (__u32)sp << 8 | (__u32)curg << 16);
}

static inline __u32 unwind_go_m(__s32 packed)
{
	return (__u8)packed;
}

static inline __u32 unwind_go_sp(__s32 packed)
{
	return (__u8)((__u32)packed >> 8);
}

static inline __u32 unwind_go_curg(__s32 packed)
{
	return (__u32)packed >> 16;
}

#endif
