/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The part of a walk (unwind_walk.h) that is specific to arm64: a call leaves the return address in
 * x30, and functions save it, if at all, anywhere. See AADWARF64 for the numbers of registers.
 */
#ifndef ABI_UNWIND_ARM64_H
#define ABI_UNWIND_ARM64_H

#include "abi/unwind_step.h"

UNWIND_INLINE __u64 unwind_register(const struct unwind_regs *regs, __u32 number)
{
	if (number == UNWIND_LINK)
		return regs->link;
	return number < sizeof(regs->x) / sizeof(*regs->x) ? regs->x[number] : 0;
}

#define UNWIND_RETURN_BYTES 0
#define UNWIND_RECORD_ABOVE 4096 /* limit of bytes from sp to the frame record */
#define UNWIND_MAX_PUSHED   0

/* Removes the signature of a return address: see unwind_address_bits(). */
UNWIND_INLINE __u64 unwind_code_address(__u64 address)
{
	return address & unwind_address_mask();
}

/* Offsets of x28 and x29 (struct sigcontext) in struct rt_sigframe, which sp is at. */
#define UNWIND_SIGFRAME_X28 536
#define UNWIND_SIGFRAME_X29 544

struct unwind_interrupted {
	__u64 bp, link, sp, ip;
};

/* Moves to the interrupted code; also restores x28, for unwind_go_routine(). */
UNWIND_INLINE int unwind_signal(struct unwind_state *s)
{
	struct unwind_interrupted saved;

	if (!unwind_read(s, &s->regs.x[28], sizeof(__u64), s->sp + UNWIND_SIGFRAME_X28) ||
	    !unwind_read(s, &saved, sizeof(saved), s->sp + UNWIND_SIGFRAME_X29))
		return UNWIND_FAULT;
	s->bp_at = s->sp + UNWIND_SIGFRAME_X29;
	s->extra_at = s->bp_at + __builtin_offsetof(struct unwind_interrupted, link);
	unwind_note(s, s->bp_at + __builtin_offsetof(struct unwind_interrupted, sp), saved.sp);
	unwind_note(s, s->bp_at + __builtin_offsetof(struct unwind_interrupted, ip), saved.ip);
	return unwind_resume(s, saved.ip, saved.sp, saved.bp, saved.link);
}

/* Moves to the caller by x30, before the function's first call. Its frame may be empty. */
UNWIND_INLINE int unwind_leave_by_link(struct unwind_state *s, const struct unwind_rule *rule,
				       __u64 cfa)
{
	__u64 bp;

	if (!s->has_extra)
		return UNWIND_BAD_RULE;
	if (!unwind_read_bp(s, rule, cfa, &bp))
		return UNWIND_FAULT;
	unwind_use_extra(s);
	s->sp_may_stay = true;
	s->has_extra = false;
	return unwind_arrive(s, s->extra, cfa, bp);
}

/*
 * Returns the correct CFA after a step along a frame record without a rule. That code may have
 * saved registers above its record (V8's JSEntry saves 144 bytes), so sp is too low. If the
 * caller's rule says that it has saved x29 and x30 as a pair, x29 points to that pair, as compilers
 * set it.
 */
UNWIND_INLINE __u64 unwind_correct_cfa(struct unwind_state *s, const struct unwind_rule *rule,
				       __u64 cfa)
{
	if (rule->kind != UNWIND_SP || rule->extra_place != UNWIND_RA_BEHIND_BP ||
	    rule->bp_kind != UNWIND_BP_AT_CFA || s->bp - s->sp >= UNWIND_RECORD_ABOVE)
		return cfa;
	unwind_use_bp(s);
	return s->bp - rule->bp_off * UNWIND_BP_UNIT;
}

/* Moves to the caller: reads its frame pointer and return address. cfa: where its stack begins. */
UNWIND_INLINE int unwind_leave(struct unwind_state *s, const struct unwind_rule *rule, __u64 cfa)
{
	__u64 place = rule->extra_place, at;
	struct unwind_frame_record saved;

	if (s->sp_is_guess)
		cfa = unwind_correct_cfa(s, rule, cfa);
	if (place == UNWIND_RA_IN_LINK)
		return unwind_leave_by_link(s, rule, cfa);
	s->has_extra = false;
	at = cfa - place * sizeof(__u64);
	if (place == UNWIND_RA_BEHIND_BP)
		at = cfa + rule->bp_off * UNWIND_BP_UNIT + sizeof(saved.bp);
	if (place == UNWIND_RA_BEHIND_BP && rule->bp_kind == UNWIND_BP_AT_CFA) { /* adjacent pair */
		s->bp_at = at - sizeof(saved.bp);
		if (!unwind_read(s, &saved, sizeof(saved), s->bp_at))
			return UNWIND_FAULT;
		unwind_note(s, at, saved.return_address);
		return unwind_arrive(s, saved.return_address, cfa, saved.bp);
	}
	if (!unwind_read_bp(s, rule, cfa, &saved.bp) ||
	    !unwind_read(s, &saved.return_address, sizeof(__u64), at))
		return UNWIND_FAULT;
	unwind_note(s, at, saved.return_address);
	return unwind_arrive(s, saved.return_address, cfa, saved.bp);
}

/* Never called: arm64 has no such rules. Calls that return twice leave the address in x30. */
UNWIND_INLINE int unwind_around_call(struct unwind_state *s, const struct unwind_rule *rule)
{
	(void)s;
	(void)rule;
	return UNWIND_BAD_RULE;
}

/*
 * Marks the caller as interrupted, after UNWIND_SP_EXACT: it made no call, and its x30 was saved
 * below the CFA (Go's sigctxt.pushCall and preparePanic).
 */
UNWIND_INLINE void unwind_mark_interrupted(struct unwind_state *s, __u64 cfa)
{
	s->ip_is_exact = true;
	s->extra_at = cfa - 16;
	s->has_extra = unwind_read(s, &s->extra, sizeof(s->extra), s->extra_at);
	if (!s->has_extra)
		unwind_depend(s);
}

/* ---- Go ---- */

/*
 * Finds the current goroutine: g is in x28 in all Go code, until C code is called. On the
 * scheduler's stack, g is the m's g0 (its first word) or already the goroutine that the m runs.
 */
UNWIND_INLINE int unwind_go_routine(struct unwind_state *s, const struct unwind_rule *rule,
				    __u64 *g)
{
	__u64 own = s->regs.x[28], scheduler;

	if (!unwind_read(s, g, sizeof(*g), own + unwind_go_m(rule->cfa_off)) ||
	    !unwind_read(s, &scheduler, sizeof(scheduler), *g) ||
	    !unwind_read(s, g, sizeof(*g), *g + unwind_go_curg(rule->cfa_off)))
		return UNWIND_BAD_RULE;
	return own == scheduler || own == *g ? UNWIND_GOES_ON : UNWIND_BAD_RULE;
}

/* Words that asmcgocall saves. */
struct unwind_go_kept {
	__u64 g, sp_or_used_bytes;
};

/* Returns from a function on the goroutine's stack; sp is at the lower end of its frame. */
UNWIND_INLINE int unwind_go_return(struct unwind_state *s, const struct unwind_rule *rule, __u64 sp,
				   __u64 bp)
{
	struct unwind_frame_record saved;

	(void)bp;
	if (!unwind_read(s, &saved, sizeof(saved), sp - sizeof(saved.bp)))
		return UNWIND_FAULT;
	return unwind_arrive(s, saved.return_address, sp + rule->bp_off * UNWIND_BP_UNIT, saved.bp);
}

/* Reads x30 of a function that has saved nothing yet: sched.lr is before sched.bp. */
UNWIND_INLINE void unwind_go_read_link(struct unwind_state *s, const struct unwind_rule *rule,
				       __u64 sched_at)
{
	s->has_extra = unwind_read(s, &s->extra, sizeof(s->extra),
				   sched_at + (rule->extra_place - 1) * sizeof(__u64));
}

/*
 * The signal trampoline has no rules: the kernel's since 5.8 (commit 87676cfca141), nor that of a C
 * library. It is recognized by its instructions, as in other unwinders: "mov x8,
 * #__NR_rt_sigreturn; svc #0".
 */
#define UNWIND_SIGRETURN_CODE 0xd4000001d2801168ULL

UNWIND_INLINE int unwind_by_stub(struct unwind_state *s)
{
	__u64 code = 0;

	if (!unwind_read(s, &code, sizeof(code), s->ip))
		return UNWIND_NO_RULE;
	return code == UNWIND_SIGRETURN_CODE ? UNWIND_TRAMPOLINE : UNWIND_NO_RULE;
}

#endif
