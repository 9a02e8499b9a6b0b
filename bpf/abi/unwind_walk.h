/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One frame of a walk, given its rule: the same code in the kernel (unwind.bpf.h) and in the loader
 * (unwind/unwind_remote.c). Whoever includes this has defined
 *
 *	static bool unwind_read(struct unwind_state *s, void *dst, __u32 size, __u64 addr);
 *
 * which reads the walked task's memory, and
 *
 *	static __u64 unwind_thread_base(struct unwind_state *s);
 *
 * where its thread-local storage is (0: not known). What lies on the stack here is kept small: see
 * STACK_PREEMPTIBLE in unwind.bpf.h.
 */
#ifndef ABI_UNWIND_WALK_H
#define ABI_UNWIND_WALK_H

#include "abi/unwind_layout.h"

#define UNWIND_INLINE static inline __attribute__((always_inline))

UNWIND_INLINE void unwind_begin(struct unwind_state *s)
{
	s->ip = s->regs.ip;
	s->sp = s->regs.sp;
	s->bp = s->regs.bp;
	s->bx = s->regs.bx;
	s->ip_is_exact = true;
	s->is_behind_signal = false;
	s->sp_may_stay = false;
	s->has_registers = true;
	s->has_bx = true;
	s->mapping.start = 0;
	s->mapping.end = 0;
}

/* DWARF's register numbers (System V ABI, AMD64, figure 3.36). */
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

/* Moves on to the caller, whose stack begins at sp. */
UNWIND_INLINE int unwind_arrive(struct unwind_state *s, __u64 ip, __u64 sp, __u64 bp)
{
	if (sp <= s->sp && !s->sp_may_stay)
		return UNWIND_NO_PROGRESS;
	s->ip = ip;
	s->sp = sp;
	s->bp = bp;
	s->ip_is_exact = false;
	s->is_behind_signal = false;
	s->sp_may_stay = false;
	s->has_registers = false;
	return UNWIND_GOES_ON;
}

/* What a frame pointer points at. */
struct unwind_frame_record {
	__u64 bp;
	__u64 return_address;
};

/* Of the interrupted registers (struct sigcontext), each two that are neighbours. */
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
	s->bp = saved.bp;
	s->bx = saved.bx;
	s->sp = at.sp;
	s->ip = at.ip;
	s->ip_is_exact = true;
	s->is_behind_signal = true;
	s->sp_may_stay = false;
	s->has_registers = false;
	s->has_bx = true;
	return UNWIND_GOES_ON;
}

/* A register that a rule names: rbx where it could be followed, the others in frame 0. */
UNWIND_INLINE bool unwind_named_register(const struct unwind_state *s, __u32 number, __u64 *value)
{
	*value = number == UNWIND_RBX ? s->bx : unwind_register(&s->regs, number);
	return s->has_registers || (number == UNWIND_RBX && s->has_bx);
}

UNWIND_INLINE int unwind_cfa(struct unwind_state *s, const struct unwind_rule *rule, __u64 *cfa)
{
	__s32 off = rule->cfa_off;

	switch (rule->kind) {
	case UNWIND_SP:
	case UNWIND_SP_EXACT:
		*cfa = s->sp + off;
		return UNWIND_GOES_ON;
	case UNWIND_BP:
		*cfa = s->bp + off;
		return UNWIND_GOES_ON;
	case UNWIND_SWITCH:
		s->sp_may_stay = true;
		*cfa = s->bp + off;
		return UNWIND_GOES_ON;
	case UNWIND_PLT:
		*cfa = s->sp + 8 + ((s->ip & 15) >= (__u64)off ? 8 : 0);
		return UNWIND_GOES_ON;
	case UNWIND_SP_DEREF:
	case UNWIND_BP_DEREF:
		*cfa = rule->kind == UNWIND_SP_DEREF ? s->sp : s->bp;
		if (!unwind_read(s, cfa, sizeof(*cfa), *cfa + unwind_deref_at(off)))
			return UNWIND_FAULT;
		*cfa += unwind_deref_plus(off);
		return UNWIND_GOES_ON;
	case UNWIND_REG:
		if (!unwind_named_register(s, unwind_reg(off), cfa))
			return UNWIND_BAD_RULE;
		*cfa += unwind_reg_plus(off);
		return UNWIND_GOES_ON;
	default:
		return UNWIND_BAD_RULE;
	}
}

/* The caller's rbx, where the rule says where it is. */
UNWIND_INLINE void unwind_follow_bx(struct unwind_state *s, const struct unwind_rule *rule,
				    __u64 cfa)
{
	__u64 place = rule->bx_place;

	if (place >= UNWIND_BX_AT_CFA)
		s->has_bx = unwind_read(s, &s->bx, sizeof(s->bx), cfa - place * sizeof(__u64));
	else if (place == UNWIND_BX_LOST)
		s->has_bx = false;
}

/*
 * Around a system call that returns twice, which needs the stack that it was called on for the
 * first time and lets the second one overwrite it: vfork keeps the return address in a register.
 */
UNWIND_INLINE int unwind_ra_register(struct unwind_state *s, const struct unwind_rule *rule)
{
	__u64 return_address;

	if (!unwind_named_register(s, unwind_reg(rule->cfa_off), &return_address))
		return UNWIND_BAD_RULE;
	s->sp_may_stay = true;
	return unwind_arrive(s, return_address, s->sp + unwind_reg_plus(rule->cfa_off), s->bp);
}

/* clone gives the child a stack of its own, with nothing on it. The child sees 0 in rax. */
UNWIND_INLINE int unwind_clone(struct unwind_state *s)
{
	__u64 return_address;

	if (!s->has_registers)
		return UNWIND_BAD_RULE;
	if (!s->regs.ax)
		return UNWIND_COMPLETE;
	if (!unwind_read(s, &return_address, sizeof(return_address), s->sp))
		return UNWIND_FAULT;
	return unwind_arrive(s, return_address, s->sp + sizeof(return_address), s->bp);
}

/* To the caller by a rule: its frame pointer and return address. */
UNWIND_INLINE int unwind_apply(struct unwind_state *s, const struct unwind_rule *rule)
{
	struct unwind_frame_record saved;
	int reason;
	__u64 cfa;

	reason = unwind_cfa(s, rule, &cfa);
	if (reason)
		return reason;
	unwind_follow_bx(s, rule, cfa);
	if (rule->bp_kind == UNWIND_BP_AT_CFA && rule->bp_off == -16) { /* neighbours: one read */
		if (!unwind_read(s, &saved, sizeof(saved), cfa - sizeof(saved)))
			return UNWIND_FAULT;
		return unwind_arrive(s, saved.return_address, cfa, saved.bp);
	}
	saved.bp = rule->bp_kind == UNWIND_BP_LOST ? 0 : s->bp; /* 0 leads nowhere */
	if (rule->bp_kind == UNWIND_BP_AT_CFA &&
	    !unwind_read(s, &saved.bp, sizeof(saved.bp), cfa + rule->bp_off))
		return UNWIND_FAULT;
	if (rule->bp_kind == UNWIND_BP_AT_BP &&
	    !unwind_read(s, &saved.bp, sizeof(saved.bp), s->bp + rule->bp_off))
		return UNWIND_FAULT;
	if (!unwind_read(s, &saved.return_address, sizeof(__u64), cfa - sizeof(__u64)))
		return UNWIND_FAULT;
	return unwind_arrive(s, saved.return_address, cfa, saved.bp);
}

/* g, its m, and of that the goroutine it runs: 0 if the scheduler works for itself. */
UNWIND_INLINE bool unwind_go_routine(struct unwind_state *s, const struct unwind_rule *rule,
				     __u64 *g)
{
	return unwind_read(s, g, sizeof(*g), *g + rule->bp_off) &&
	       unwind_read(s, g, sizeof(*g), *g + unwind_go_m(rule->cfa_off)) &&
	       unwind_read(s, g, sizeof(*g), *g + unwind_go_curg(rule->cfa_off));
}

/* Whatever lies at the top of the goroutine's stack, which began as where it was left. */
UNWIND_INLINE int unwind_go_arrive(struct unwind_state *s, __u8 kind, __u64 sp, __u64 ip, __u64 bp)
{
	if (kind == UNWIND_GO_FRAMED) {
		if (!unwind_read(s, &bp, sizeof(bp), sp))
			return UNWIND_FAULT;
		sp += sizeof(bp);
	}
	if (kind != UNWIND_GO_SAVED) {
		if (!unwind_read(s, &ip, sizeof(ip), sp))
			return UNWIND_FAULT;
		sp += sizeof(ip);
	}
	s->sp_may_stay = true;
	s->has_bx = false;
	return unwind_arrive(s, ip, sp, bp);
}

/* From the scheduler's stack to the goroutine's, by what was saved when that was left. */
UNWIND_INLINE int unwind_go_stack(struct unwind_state *s, const struct unwind_rule *rule)
{
	__u64 at = unwind_thread_base(s), bp;
	struct {
		__u64 sp, ip;
	} sched;

	if (!at)
		return UNWIND_BAD_RULE;
	if (!unwind_go_routine(s, rule, &at))
		return UNWIND_FAULT;
	if (!at)
		return UNWIND_COMPLETE;
	at += unwind_go_sp(rule->cfa_off);
	if (!unwind_read(s, &sched, sizeof(sched), at) ||
	    !unwind_read(s, &bp, sizeof(bp), at + rule->bx_place * sizeof(__u64)))
		return UNWIND_FAULT;
	return unwind_go_arrive(s, rule->bp_kind, sched.sp, sched.ip, bp);
}

/*
 * Around C code that runs on the scheduler's stack: the goroutine's may have moved meanwhile. Where
 * that was called on the scheduler's stack already, there is no g, but the stack pointer itself.
 */
UNWIND_INLINE int unwind_go_call(struct unwind_state *s, const struct unwind_rule *rule)
{
	struct {
		__u64 sp_or_used_bytes, g;
	} saved;
	__u64 high;

	if (!unwind_read(s, &saved, sizeof(saved), s->sp + rule->cfa_off))
		return UNWIND_FAULT;
	if (!saved.g)
		return unwind_go_arrive(s, UNWIND_GO_CALLED, saved.sp_or_used_bytes, 0, s->bp);
	if (!unwind_read(s, &high, sizeof(high), saved.g + UNWIND_GO_STACK_HIGH))
		return UNWIND_FAULT;
	return unwind_go_arrive(s, UNWIND_GO_CALLED, high - saved.sp_or_used_bytes, 0, s->bp);
}

/* Rules that only Go code has: apart, since few walks need them. */
UNWIND_INLINE bool unwind_is_go(const struct unwind_rule *rule)
{
	return rule->kind == UNWIND_GO_STACK || rule->kind == UNWIND_GO_CALL;
}

UNWIND_INLINE int unwind_by_go_rule(struct unwind_state *s, const struct unwind_rule *rule)
{
	return rule->kind == UNWIND_GO_STACK ? unwind_go_stack(s, rule) : unwind_go_call(s, rule);
}

/* To the caller by a rule of any kind but UNWIND_GAP and those of unwind_is_go(). */
UNWIND_INLINE int unwind_by_rule(struct unwind_state *s, const struct unwind_rule *rule)
{
	int reason;

	switch (rule->kind) {
	case UNWIND_END:
		return UNWIND_COMPLETE;
	case UNWIND_SIGNAL:
		return unwind_signal(s);
	case UNWIND_RA_REG:
		return unwind_ra_register(s, rule);
	case UNWIND_CLONE:
		return unwind_clone(s);
	default:
		reason = unwind_apply(s, rule);
		if (rule->kind == UNWIND_SP_EXACT)
			s->ip_is_exact = true;
		return reason;
	}
}

/* No stack is larger: what is further away is not a frame pointer, and reading it would fault. */
#define UNWIND_STACK_BYTES (8U << 20)

/*
 * On arm64 a return address may be signed, in the bits that no address of a program has (Arm ARM,
 * D8.10: pointer authentication); elsewhere it is as it is.
 */
UNWIND_INLINE __u64 unwind_unsigned(__u64 address)
{
#if defined(__TARGET_ARCH_arm64) || defined(__aarch64__)
	return address & ((1ULL << 48) - 1);
#else
	return address;
#endif
}

/* By the frame pointer, for code without a rule; the caller checks that it leads to code. */
UNWIND_INLINE bool unwind_read_frame_record(struct unwind_state *s,
					    struct unwind_frame_record *record)
{
	if (s->bp < s->sp || s->bp - s->sp >= UNWIND_STACK_BYTES || s->bp & 7 ||
	    !unwind_read(s, record, sizeof(*record), s->bp))
		return false;
	record->return_address = unwind_unsigned(record->return_address);
	return true;
}

UNWIND_INLINE int unwind_follow_record(struct unwind_state *s,
				       const struct unwind_frame_record *record)
{
	s->has_bx = false;
	return unwind_arrive(s, record->return_address, s->bp + sizeof(*record), record->bp);
}

/*
 * Code without a rule that gives back what it took of the stack and returns, right behind its call:
 * "add $n,%rsp; ret" (Intel SDM, volume 2), as the stubs of run-time compilers do. So the
 * instructions themselves say where the caller's stack begins. UNWIND_NO_RULE: it isn't like that.
 */
#define UNWIND_STUB_BYTES 5
#define UNWIND_STUB_MASK  0xff80ffffffULL /* n is from 0 to 127 */
#define UNWIND_STUB_CODE  0xc300c48348ULL

UNWIND_INLINE int unwind_by_stub(struct unwind_state *s)
{
	__u64 code = 0, sp, return_address;

	if (s->ip_is_exact || !unwind_read(s, &code, UNWIND_STUB_BYTES, s->ip) ||
	    (code & UNWIND_STUB_MASK) != UNWIND_STUB_CODE)
		return UNWIND_NO_RULE;
	sp = s->sp + (code >> 24 & 0x7f);
	if (!unwind_read(s, &return_address, sizeof(return_address), sp))
		return UNWIND_FAULT;
	return unwind_arrive(s, return_address, sp + sizeof(return_address), s->bp);
}

#endif
