/* SPDX-License-Identifier: GPL-2.0-only */
/* What each architecture's part of a walk builds on; see unwind_walk.h. */
#ifndef ABI_UNWIND_STEP_H
#define ABI_UNWIND_STEP_H

#include "abi/unwind_layout.h"

#define UNWIND_INLINE static inline __attribute__((always_inline))

/* What a frame pointer points at. */
struct unwind_frame_record {
	__u64 bp;
	__u64 return_address;
};

UNWIND_INLINE __u64 unwind_code_address(__u64 address);
UNWIND_INLINE __u64 unwind_register(const struct unwind_regs *regs, __u32 number);

/* Moves on to the caller, whose stack begins at sp. */
UNWIND_INLINE int unwind_arrive(struct unwind_state *s, __u64 ip, __u64 sp, __u64 bp)
{
	if (sp <= s->sp && !s->sp_may_stay)
		return UNWIND_NO_PROGRESS;
	s->ip = unwind_code_address(ip);
	s->sp = sp;
	s->bp = bp;
	s->ip_is_exact = false;
	s->is_behind_signal = false;
	s->sp_may_stay = false;
	s->has_registers = false;
	return UNWIND_GOES_ON;
}

/* Moves on to what a signal has interrupted. */
UNWIND_INLINE int unwind_resume(struct unwind_state *s, __u64 ip, __u64 sp, __u64 bp, __u64 extra)
{
	s->ip = ip;
	s->sp = sp;
	s->bp = bp;
	s->extra = extra;
	s->ip_is_exact = true;
	s->is_behind_signal = true;
	s->sp_may_stay = false;
	s->has_registers = false;
	s->has_extra = true;
	return UNWIND_GOES_ON;
}

/* The caller's frame pointer. */
UNWIND_INLINE bool unwind_read_bp(struct unwind_state *s, const struct unwind_rule *rule, __u64 cfa,
				  __u64 *bp)
{
	__s64 off = rule->bp_off * UNWIND_BP_UNIT;

	*bp = rule->bp_kind == UNWIND_BP_LOST ? 0 : s->bp; /* 0 leads nowhere */
	if (rule->bp_kind == UNWIND_BP_AT_CFA)
		return unwind_read(s, bp, sizeof(*bp), cfa + off);
	if (rule->bp_kind == UNWIND_BP_AT_BP)
		return unwind_read(s, bp, sizeof(*bp), s->bp + off);
	return true;
}

/* A register that a rule names: the extra one where it could be followed, others in frame 0. */
UNWIND_INLINE bool unwind_named_register(const struct unwind_state *s, __u32 number, __u64 *value)
{
	*value = number == UNWIND_EXTRA ? s->extra : unwind_register(&s->regs, number);
	return s->has_registers || (number == UNWIND_EXTRA && s->has_extra);
}

#endif
