/* SPDX-License-Identifier: GPL-2.0-only */
/* Helpers for each architecture's part of a walk; see unwind_walk.h. */
#ifndef ABI_UNWIND_STEP_H
#define ABI_UNWIND_STEP_H

#include "abi/unwind_layout.h"

#define UNWIND_INLINE static inline __attribute__((always_inline))

/* Result of unwind_by_stub() for a trampoline for signal handlers: unwind_signal() continues. */
#define UNWIND_TRAMPOLINE UNWIND_REASONS

/* Two words at a frame pointer. */
struct unwind_frame_record {
	__u64 bp;
	__u64 return_address;
};

static inline void unwind_note(struct unwind_state *s, __u64 addr, __u64 word);
UNWIND_INLINE __u64 unwind_code_address(__u64 address);
UNWIND_INLINE __u64 unwind_register(const struct unwind_regs *regs, __u32 number);

/*
 * Ends recording: the walk's path depends on something that can't be compared later. Words that the
 * walk reads are recorded by unwind_note(), saved registers once they are used.
 */
UNWIND_INLINE void unwind_depend(struct unwind_state *s)
{
	s->recorder = 0;
}

UNWIND_INLINE void unwind_use_bp(struct unwind_state *s)
{
	if (s->bp_at == UNWIND_OWN)
		s->uses_bp = true;
	else if (s->bp_at != UNWIND_NOWHERE)
		unwind_note(s, s->bp_at, s->bp);
}

UNWIND_INLINE void unwind_use_extra(struct unwind_state *s)
{
	if (s->extra_at == UNWIND_OWN)
		s->uses_extra = true;
	else
		unwind_note(s, s->extra_at, s->extra);
}

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
	s->sp_is_guess = false;
	s->has_registers = false;
	return UNWIND_GOES_ON;
}

/*
 * Returns true at a return address of 0: there is no caller. Coroutine libraries end stacks with
 * it, but so may incomplete walks. A program interrupted at address 0 has called a null pointer:
 * this is a frame.
 */
UNWIND_INLINE bool unwind_is_null(const struct unwind_state *s)
{
	return !s->ip && !s->ip_is_exact;
}

/* Moves on to the interrupted code; the caller sets bp_at and extra_at. */
UNWIND_INLINE int unwind_resume(struct unwind_state *s, __u64 ip, __u64 sp, __u64 bp, __u64 extra)
{
	s->ip = ip;
	s->sp = sp;
	s->bp = bp;
	s->extra = extra;
	s->ip_is_exact = true;
	s->is_behind_signal = true;
	s->sp_may_stay = false;
	s->sp_is_guess = false;
	s->has_registers = false;
	s->has_extra = true;
	return UNWIND_GOES_ON;
}

/* Reads the caller's frame pointer and sets bp_at, its location. */
UNWIND_INLINE bool unwind_read_bp(struct unwind_state *s, const struct unwind_rule *rule, __u64 cfa,
				  __u64 *bp)
{
	__s64 off = rule->bp_off * UNWIND_BP_UNIT;

	if (rule->bp_kind == UNWIND_BP_AT_CFA) {
		s->bp_at = cfa + off;
		return unwind_read(s, bp, sizeof(*bp), s->bp_at);
	}
	if (rule->bp_kind == UNWIND_BP_AT_BP) {
		unwind_use_bp(s);
		s->bp_at = s->bp + off;
		return unwind_read(s, bp, sizeof(*bp), s->bp_at);
	}
	*bp = s->bp;
	if (rule->bp_kind == UNWIND_BP_LOST) {
		s->bp_at = UNWIND_NOWHERE;
		*bp = 0; /* an invalid frame pointer */
	}
	return true;
}

/*
 * Reads a register that a rule uses. Returns false if it is unknown: the extra one is known if it
 * was tracked, the rest only in frame 0.
 */
UNWIND_INLINE bool unwind_named_register(struct unwind_state *s, __u32 number, __u64 *value)
{
	if (number == UNWIND_EXTRA)
		unwind_use_extra(s);
	else
		unwind_depend(s);
	*value = number == UNWIND_EXTRA ? s->extra : unwind_register(&s->regs, number);
	return s->has_registers || (number == UNWIND_EXTRA && s->has_extra);
}

#endif
