/* SPDX-License-Identifier: GPL-2.0-only */
/* The part of a walk (unwind_walk.h) that is specific to x86-64: psABI AMD64 1.0. */
#ifndef ABI_UNWIND_X86_H
#define ABI_UNWIND_X86_H

#include "abi/unwind_step.h"

/* Returns the register with a DWARF number (figure 3.36). */
UNWIND_INLINE __u64 unwind_register(const struct unwind_regs *regs, __u32 number)
{
	switch (number) {
	case 0:
		return regs->ax;
	case 1:
		return regs->dx;
	case 2:
		return regs->cx;
	case 3:
		return regs->bx;
	case 4:
		return regs->si;
	case 5:
		return regs->di;
	case 8:
		return regs->r8;
	case 9:
		return regs->r9;
	case 10:
		return regs->r10;
	case 11:
		return regs->r11;
	case 12:
		return regs->r12;
	case 13:
		return regs->r13;
	case 14:
		return regs->r14;
	case 15:
		return regs->r15;
	default:
		return 0;
	}
}

/* A return pops the return address; sp pointed at it when the probe recorded the call. */
#define UNWIND_RETURN_BYTES 8
#define UNWIND_MAX_PUSHED   24 /* bytes pushed by the trampoline, since 6.11 */

UNWIND_INLINE __u64 unwind_code_address(__u64 address)
{
	return address;
}

/* Interrupted registers (struct sigcontext), in pairs of neighbours. */
struct unwind_interrupted {
	__u64 bp, bx;
};

struct unwind_interrupted_at {
	__u64 sp, ip;
};

UNWIND_INLINE int unwind_signal(struct unwind_state *s)
{
	struct unwind_interrupted_at at;
	struct unwind_interrupted saved;

	if (!unwind_read(s, &saved, sizeof(saved), s->sp + UNWIND_UCONTEXT_RBP) ||
	    !unwind_read(s, &at, sizeof(at), s->sp + UNWIND_UCONTEXT_RSP))
		return UNWIND_FAULT;
	unwind_note(s, s->sp + UNWIND_UCONTEXT_RSP, at.sp);
	unwind_note(s, s->sp + UNWIND_UCONTEXT_RSP + sizeof(at.sp), at.ip);
	s->bp_at = s->sp + UNWIND_UCONTEXT_RBP;
	s->extra_at = s->bp_at + sizeof(saved.bp);
	return unwind_resume(s, at.ip, at.sp, saved.bp, saved.bx);
}

/* Reads the caller's rbx, if the rule locates it. */
UNWIND_INLINE void unwind_follow_bx(struct unwind_state *s, const struct unwind_rule *rule,
				    __u64 cfa)
{
	__u64 place = rule->extra_place;

	if (place == UNWIND_BX_LOST)
		s->has_extra = false;
	if (place < UNWIND_BX_AT_CFA)
		return;
	s->extra_at = cfa - place * sizeof(__u64);
	s->has_extra = unwind_read(s, &s->extra, sizeof(s->extra), s->extra_at);
	if (!s->has_extra)
		unwind_depend(s);
}

/* Moves to the caller, whose stack begins at the CFA. */
UNWIND_INLINE int unwind_return(struct unwind_state *s, const struct unwind_frame_record *saved,
				__u64 cfa)
{
	unwind_note(s, cfa - sizeof(__u64), saved->return_address);
	return unwind_arrive(s, saved->return_address, cfa, saved->bp);
}

/* Moves to the caller by the rule: reads its frame pointer and return address. */
UNWIND_INLINE int unwind_leave(struct unwind_state *s, const struct unwind_rule *rule, __u64 cfa)
{
	struct unwind_frame_record saved;

	unwind_follow_bx(s, rule, cfa);
	if (rule->bp_kind == UNWIND_BP_AT_CFA && rule->bp_off == -16) { /* neighbours: one read */
		s->bp_at = cfa - sizeof(saved);
		if (!unwind_read(s, &saved, sizeof(saved), s->bp_at))
			return UNWIND_FAULT;
		return unwind_return(s, &saved, cfa);
	}
	if (!unwind_read_bp(s, rule, cfa, &saved.bp) ||
	    !unwind_read(s, &saved.return_address, sizeof(__u64), cfa - sizeof(__u64)))
		return UNWIND_FAULT;
	return unwind_return(s, &saved, cfa);
}

/*
 * Moves to the caller of a system call that returns twice on the same stack: vfork saves the return
 * address in a register because the child overwrites it on the stack.
 */
UNWIND_INLINE int unwind_ra_register(struct unwind_state *s, const struct unwind_rule *rule)
{
	__u64 return_address;

	if (!unwind_named_register(s, unwind_reg(rule->cfa_off), &return_address))
		return UNWIND_BAD_RULE;
	s->sp_may_stay = true;
	return unwind_arrive(s, return_address, s->sp + unwind_reg_plus(rule->cfa_off), s->bp);
}

/* Moves to the caller of clone. The child (rax is 0) has no caller: its stack is new and empty. */
UNWIND_INLINE int unwind_clone(struct unwind_state *s)
{
	__u64 return_address;

	unwind_depend(s);
	if (!s->has_registers)
		return UNWIND_BAD_RULE;
	if (!s->regs.ax)
		return UNWIND_COMPLETE;
	if (!unwind_read(s, &return_address, sizeof(return_address), s->sp))
		return UNWIND_FAULT;
	return unwind_arrive(s, return_address, s->sp + sizeof(return_address), s->bp);
}

/* Moves to the caller by UNWIND_RA_REG or UNWIND_CLONE. */
UNWIND_INLINE int unwind_around_call(struct unwind_state *s, const struct unwind_rule *rule)
{
	return rule->kind == UNWIND_CLONE ? unwind_clone(s) : unwind_ra_register(s, rule);
}

/* Marks the caller as interrupted, after UNWIND_SP_EXACT: it made no call. */
UNWIND_INLINE void unwind_mark_interrupted(struct unwind_state *s, __u64 cfa)
{
	(void)cfa;
	s->ip_is_exact = true;
}

/* ---- Go ---- */

/* Finds the current goroutine: g is in thread-local storage, and g's m points to it. */
UNWIND_INLINE int unwind_go_routine(struct unwind_state *s, const struct unwind_rule *rule,
				    __u64 *g)
{
	*g = unwind_thread_base(s);
	if (!*g)
		return UNWIND_BAD_RULE;
	if (!unwind_read(s, g, sizeof(*g), *g + rule->bp_off) ||
	    !unwind_read(s, g, sizeof(*g), *g + unwind_go_m(rule->cfa_off)) ||
	    !unwind_read(s, g, sizeof(*g), *g + unwind_go_curg(rule->cfa_off)))
		return UNWIND_FAULT;
	return UNWIND_GOES_ON;
}

/* Words that asmcgocall saves. */
struct unwind_go_kept {
	__u64 sp_or_used_bytes, g;
};

/*
 * Returns from a function on the goroutine's stack, which holds the caller's rbp (UNWIND_GO_FRAMED
 * only) and the return address.
 */
UNWIND_INLINE int unwind_go_return(struct unwind_state *s, const struct unwind_rule *rule, __u64 sp,
				   __u64 bp)
{
	__u64 ip;

	if (rule->bp_kind == UNWIND_GO_FRAMED) {
		if (!unwind_read(s, &bp, sizeof(bp), sp))
			return UNWIND_FAULT;
		sp += sizeof(bp);
	}
	if (!unwind_read(s, &ip, sizeof(ip), sp))
		return UNWIND_FAULT;
	return unwind_arrive(s, ip, sp + sizeof(ip), bp);
}

UNWIND_INLINE void unwind_go_read_link(struct unwind_state *s, const struct unwind_rule *rule,
				       __u64 sched_at)
{
	(void)s;
	(void)rule;
	(void)sched_at;
}

/*
 * A signal trampoline without a rule, such as musl's, is recognized by its instructions, as in
 * other unwinders: "mov $__NR_rt_sigreturn,%rax; syscall". They have nine bytes, compared as the
 * first eight and the last eight. During the system call, until the kernel restores the registers,
 * the thread's address is after the last instruction, beyond any rule.
 */
#define UNWIND_SIGRETURN_BYTES 9
#define UNWIND_SIGRETURN_FIRST 0x0f0000000fc0c748ULL
#define UNWIND_SIGRETURN_LAST  0x050f0000000fc0c7ULL

/*
 * Code without a rule that frees its frame and returns, right after a call: "add $n,%rsp; ret"
 * (Intel SDM, volume 2), such as stubs of JIT compilers. These instructions define where the
 * caller's stack begins.
 */
#define UNWIND_STUB_MASK 0xff80ffffffULL /* n is from 0 to 127 */
#define UNWIND_STUB_CODE 0xc300c48348ULL

/* *code is scratch space of the caller, whose stack is small. */
UNWIND_INLINE bool unwind_is_sigreturn(struct unwind_state *s, __u64 at, __u64 *code)
{
	return unwind_read(s, code, sizeof(*code), at + 1) && *code == UNWIND_SIGRETURN_LAST &&
	       unwind_read(s, code, sizeof(*code), at) && *code == UNWIND_SIGRETURN_FIRST;
}

/* Moves to the caller of the code above; UNWIND_NO_RULE: other code. */
UNWIND_INLINE int unwind_by_stub(struct unwind_state *s)
{
	__u64 code = 0, sp, return_address;

	if (unwind_is_sigreturn(s, s->ip, &code) ||
	    (s->ip_is_exact && unwind_is_sigreturn(s, s->ip - UNWIND_SIGRETURN_BYTES, &code)))
		return UNWIND_TRAMPOLINE;
	if (!unwind_read(s, &code, sizeof(code), s->ip))
		return UNWIND_NO_RULE;
	if (s->ip_is_exact || (code & UNWIND_STUB_MASK) != UNWIND_STUB_CODE)
		return UNWIND_NO_RULE;
	sp = s->sp + (code >> 24 & 0x7f);
	if (!unwind_read(s, &return_address, sizeof(return_address), sp))
		return UNWIND_FAULT;
	return unwind_arrive(s, return_address, sp + sizeof(return_address), s->bp);
}

#endif
