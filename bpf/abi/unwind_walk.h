/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Walks one frame, given its rule: the same code in the kernel (unwind.bpf.h) and in the loader
 * (unwind/unwind_remote.c). The includer must define
 *
 *	static bool unwind_read(struct unwind_state *s, void *dst, __u32 size, __u64 addr);
 *
 * which reads the walked task's memory;
 *
 *	static __u64 unwind_thread_base(struct unwind_state *s);
 *
 * which returns the base of the task's thread-local storage (0: unknown);
 *
 *	static __u64 unwind_address_mask(void);
 *
 * which returns unwind_address_bits(); and
 *
 *	static void unwind_note(struct unwind_state *s, __u64 addr, __u64 word);
 *
 * which records the words that, with s->uses_bp and s->uses_extra, alone determine the walk's path:
 * see unwind_depend(). Functions here use little stack: see STACK_PREEMPTIBLE in
 * unwind_slots.bpf.h.
 */
#ifndef ABI_UNWIND_WALK_H
#define ABI_UNWIND_WALK_H

#include "abi/unwind_layout.h"
#include UNWIND_ARCH

UNWIND_INLINE void unwind_begin(struct unwind_state *s)
{
	s->ip = s->regs.ip;
	s->sp = s->regs.sp;
	s->bp = s->regs.bp;
	s->extra = unwind_register(&s->regs, UNWIND_EXTRA);
	s->ip_is_exact = true;
	s->is_behind_signal = false;
	s->sp_may_stay = false;
	s->has_registers = true;
	s->has_extra = true;
	s->uses_bp = false;
	s->uses_extra = false;
	s->knows_returns = false;
	s->is_framed = false;
	s->sp_is_guess = false;
	s->runtime = 0;
	s->bp_at = UNWIND_OWN;
	s->extra_at = UNWIND_OWN;
	s->recorder = 0;
	s->mapping.start = 0;
	s->mapping.end = 0;
}

UNWIND_INLINE int unwind_cfa_by_deref(struct unwind_state *s, const struct unwind_rule *rule,
				      __u64 *cfa)
{
	__u64 at = s->sp;

	if (rule->kind == UNWIND_BP_DEREF) {
		unwind_use_bp(s);
		at = s->bp;
	}
	at += unwind_deref_at(rule->cfa_off);
	if (!unwind_read(s, cfa, sizeof(*cfa), at))
		return UNWIND_FAULT;
	unwind_note(s, at, *cfa);
	*cfa += unwind_deref_plus(rule->cfa_off);
	return UNWIND_GOES_ON;
}

UNWIND_INLINE int unwind_cfa(struct unwind_state *s, const struct unwind_rule *rule, __u64 *cfa)
{
	__s32 off = rule->cfa_off;

	switch (rule->kind) {
	case UNWIND_SP:
		*cfa = s->sp + off;
		return UNWIND_GOES_ON;
	case UNWIND_BP:
		unwind_use_bp(s);
		*cfa = s->bp + off;
		return UNWIND_GOES_ON;
	case UNWIND_SWITCH:
		unwind_use_bp(s);
		s->sp_may_stay = true;
		*cfa = s->bp + off;
		return UNWIND_GOES_ON;
	case UNWIND_PLT:
		*cfa = s->sp + 8 + ((s->ip & 15) >= (__u64)off ? 8 : 0);
		return UNWIND_GOES_ON;
	case UNWIND_SP_DEREF:
	case UNWIND_BP_DEREF:
		return unwind_cfa_by_deref(s, rule, cfa);
	case UNWIND_REG:
		if (!unwind_named_register(s, unwind_reg(off), cfa))
			return UNWIND_BAD_RULE;
		*cfa += unwind_reg_plus(off);
		return UNWIND_GOES_ON;
	default:
		return UNWIND_BAD_RULE;
	}
}

UNWIND_INLINE int unwind_apply(struct unwind_state *s, const struct unwind_rule *rule)
{
	__u64 cfa;
	int reason = unwind_cfa(s, rule, &cfa);

	return reason ? reason : unwind_leave(s, rule, cfa);
}

/*
 * Moves from the scheduler's stack to the goroutine's, by the values saved at the switch. Returns
 * UNWIND_COMPLETE if there is no goroutine, since the scheduler works for itself.
 */
UNWIND_INLINE int unwind_go_stack(struct unwind_state *s, const struct unwind_rule *rule)
{
	__u64 at, bp;
	int reason = unwind_go_routine(s, rule, &at);
	struct {
		__u64 sp, ip;
	} sched;

	unwind_depend(s);
	if (reason)
		return reason;
	if (!at)
		return UNWIND_COMPLETE;
	at += unwind_go_sp(rule->cfa_off);
	if (!unwind_read(s, &sched, sizeof(sched), at) ||
	    !unwind_read(s, &bp, sizeof(bp), at + rule->extra_place * sizeof(__u64)))
		return UNWIND_FAULT;
	s->sp_may_stay = true;
	s->has_extra = false;
	if (rule->bp_kind != UNWIND_GO_SAVED)
		return unwind_go_return(s, rule, sched.sp, bp);
	unwind_go_read_link(s, rule, at);
	return unwind_arrive(s, sched.ip, sched.sp, bp);
}

/*
 * Moves from C code on the scheduler's stack to its caller on the goroutine's stack, which may have
 * moved meanwhile. If the caller was on the scheduler's stack, too, the saved g is 0, and the stack
 * pointer itself is saved.
 */
UNWIND_INLINE int unwind_go_call(struct unwind_state *s, const struct unwind_rule *rule)
{
	struct unwind_go_kept kept;
	__u64 high = 0;

	unwind_depend(s);
	if (!unwind_read(s, &kept, sizeof(kept), s->sp + rule->cfa_off) ||
	    (kept.g && !unwind_read(s, &high, sizeof(high), kept.g + UNWIND_GO_STACK_HIGH)))
		return UNWIND_FAULT;
	s->sp_may_stay = true;
	s->has_extra = false;
	return unwind_go_return(
		s, rule, kept.g ? high - kept.sp_or_used_bytes : kept.sp_or_used_bytes, s->bp);
}

/* Moves to interrupted code that Go made look as if it had made a call. */
UNWIND_INLINE int unwind_go_interrupted(struct unwind_state *s, const struct unwind_rule *rule)
{
	__u64 cfa = s->sp + rule->cfa_off;
	int reason = unwind_leave(s, rule, cfa);

	if (!reason)
		unwind_mark_interrupted(s, cfa);
	return reason;
}

/* Returns true for Go's rules, which are handled separately: few walks need them. */
UNWIND_INLINE bool unwind_is_go(const struct unwind_rule *rule)
{
	return rule->kind == UNWIND_GO_STACK || rule->kind == UNWIND_GO_CALL;
}

UNWIND_INLINE int unwind_by_go_rule(struct unwind_state *s, const struct unwind_rule *rule)
{
	return rule->kind == UNWIND_GO_STACK ? unwind_go_stack(s, rule) : unwind_go_call(s, rule);
}

/*
 * Moves to the caller by a rule of any kind except UNWIND_GAP, UNWIND_SP_EXACT and Go's
 * (unwind_is_go()).
 */
UNWIND_INLINE int unwind_by_rule(struct unwind_state *s, const struct unwind_rule *rule)
{
	switch (rule->kind) {
	case UNWIND_END:
		return UNWIND_COMPLETE;
	case UNWIND_SIGNAL:
		return unwind_signal(s);
	case UNWIND_RA_REG:
	case UNWIND_CLONE:
		return unwind_around_call(s, rule);
	default:
		return unwind_apply(s, rule);
	}
}

/* Moves to the caller by decoding instructions at ip; UNWIND_NO_RULE: they are unknown. */
UNWIND_INLINE int unwind_by_code(struct unwind_state *s)
{
	int reason = unwind_by_stub(s);

	return reason == UNWIND_TRAMPOLINE ? unwind_signal(s) : reason;
}

/* Maximum bytes of a stack: a more distant frame pointer is invalid, and reading it would fault. */
#define UNWIND_STACK_BYTES (8U << 20)

/* Reads the record at the frame pointer, for code without a rule. The caller checks its address. */
UNWIND_INLINE bool unwind_read_frame_record(struct unwind_state *s,
					    struct unwind_frame_record *record)
{
	__u64 lowest = s->sp - UNWIND_RECORD_BELOW;

	unwind_use_bp(s);
	if (s->bp < lowest || s->bp - lowest >= UNWIND_STACK_BYTES || s->bp & 7 ||
	    !unwind_read(s, record, sizeof(*record), s->bp))
		return false;
	unwind_note(s, s->bp + sizeof(record->bp), record->return_address);
	record->return_address = unwind_code_address(record->return_address);
	return true;
}

UNWIND_INLINE int unwind_follow_record(struct unwind_state *s,
				       const struct unwind_frame_record *record)
{
	int reason;

	s->has_extra = false;
	s->is_framed = true;
	s->bp_at = s->bp;
	reason = unwind_arrive(s, record->return_address, s->bp + sizeof(*record), record->bp);
	s->sp_is_guess = UNWIND_IS_ARM64;
	return reason;
}

#endif
