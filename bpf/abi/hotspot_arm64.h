/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The part of a walk through HotSpot's code (hotspot_walk.h) that is specific to arm64: a call
 * leaves the return address in x30. Methods begin and end with
 *
 *	sub sp, sp, #n; stp x29, x30, [sp, #n-16]	ldp x29, x30, [sp, #n-16]; add sp, sp, #n
 *	stp x29, x30, [sp, #-16]!; sub sp, sp, #n-16	add sp, sp, #n-16; ldp x29, x30, [sp], #16
 *
 * and "ret" is preceded by polls. HotSpot's registers: x13 or x19 the caller's stack pointer, x20
 * the stack of expressions, x22 the position in the bytecode.
 */
#ifndef ABI_HOTSPOT_ARM64_H
#define ABI_HOTSPOT_ARM64_H

#include "abi/arm64_insn.h"
#include "abi/hotspot_step.h"

#define HOTSPOT_BEGINNING    24 /* instructions that are followed, up to the complete frame */
#define HOTSPOT_INSTRUCTIONS 16 /* instructions that are followed, from the interrupted one */

#define HOTSPOT_RET	     0xd65f03c0
#define HOTSPOT_SUB_SP_X8    0xcb2863ff /* sub sp, sp, x8 */
#define HOTSPOT_STP_DOWN     0xa9bf7bfd /* stp x29, x30, [sp, #-16]! */
#define HOTSPOT_LDP_UP	     0xa8c17bfd /* ldp x29, x30, [sp], #16 */
#define HOTSPOT_AND_SP_X20   0x927cee9f /* and sp, x20, #-16 */
#define HOTSPOT_MOV_X13_SP   0x910003ed
#define HOTSPOT_MOV_X19_SP   0x910003f3
#define HOTSPOT_IS_STP(word) (((word)&0xffc07fff) == 0xa9007bfd) /* stp x29, x30, [sp, #n] */
#define HOTSPOT_IS_LDP(word) (((word)&0xffc07fff) == 0xa9407bfd) /* ldp x29, x30, [sp, #n] */

/* Places of the return address; 0: unknown. */
enum hotspot_return {
	HOTSPOT_BY_RECORD = 1, /* in the frame's last two words, after x29 */
	HOTSPOT_BY_LINK,       /* in x30 */
	HOTSPOT_BY_SENDER,     /* in x30, and the caller's sp in x13 or x19 */
};

/* Loops over code: see hotspot_run_loop(). */
enum hotspot_loop {
	HOTSPOT_FOLLOW_PROLOGUE,
	HOTSPOT_FOLLOW_BODY,
	HOTSPOT_FOLLOW_ADAPTER,
};

UNWIND_INLINE __u64 hotspot_position_register(const struct unwind_state *s)
{
	return unwind_register(&s->regs, 22);
}

/* ---- compiled methods ---- */

UNWIND_INLINE bool hotspot_follows_call(struct unwind_state *s, struct hotspot_walk *w,
					__u64 address)
{
	__u32 word;

	if (hotspot_is_interpreter(&w->layout, address) ||
	    hotspot_is_continuation(&w->layout, address))
		return true;
	if (!unwind_read(s, &word, sizeof(word), address - sizeof(word)))
		return false;
	return arm64_is_call(word);
}

/*
 * Follows the first bytes of a method, which are in the code. Sets w->moved to the bytes from sp to
 * the caller's stack. Returns where the return address is.
 */
UNWIND_INLINE __u32 hotspot_follow_prologue(struct hotspot_walk *w, __u32 bytes)
{
	__u32 found = HOTSPOT_BY_LINK;

	w->moved = 0;
	for (__u32 i = 0; i < HOTSPOT_BEGINNING && 4 * i < bytes; i++) {
		__u32 word = hotspot_four_bytes(w->code + 4 * i);

		if (HOTSPOT_IS_STP(word) || word == HOTSPOT_STP_DOWN)
			found = HOTSPOT_BY_RECORD;
		if (word == HOTSPOT_SUB_SP_X8)
			w->moved = (__s32)w->frame_bytes;
		else
			w->moved -= arm64_moved_sp(word);
	}
	return found;
}

/*
 * Follows the code that was read, as far as the method's end. Sets w->moved to the bytes from sp to
 * the caller's stack, and w->dropped to the maximum on the way. Returns where the return address
 * is; 0: the code jumps away before, or is too long.
 */
UNWIND_INLINE __u32 hotspot_follow_body(struct hotspot_walk *w)
{
	w->moved = w->dropped = 0;
	for (__u32 i = 0; i < HOTSPOT_INSTRUCTIONS; i++) {
		__u32 word = hotspot_four_bytes(w->code + 4 * i);

		if (word == HOTSPOT_RET)
			return HOTSPOT_BY_LINK;
		if (arm64_ends_path(word))
			return 0;
		if (HOTSPOT_IS_LDP(word))
			w->moved += arm64_signed_field(word, 15, 7) * 8;
		if (HOTSPOT_IS_LDP(word) || word == HOTSPOT_LDP_UP) {
			w->moved += 16;
			return HOTSPOT_BY_RECORD;
		}
		w->moved += arm64_moved_sp(word);
		if (w->moved > w->dropped)
			w->dropped = w->moved;
	}
	return 0;
}

/*
 * Follows the code of an adapter to interpreted code, which may push and pop around a check, then
 * saves sp in x13 or x19 before it moves arguments. Sets w->moved to the bytes that it has pushed.
 * Returns the place of the return address; 0: unknown.
 */
UNWIND_INLINE __u32 hotspot_follow_adapter(struct hotspot_walk *w)
{
	__u32 saves = w->layout.sender_is_x19 ? HOTSPOT_MOV_X19_SP : HOTSPOT_MOV_X13_SP;

	w->moved = 0;
	for (__u32 i = 0; i < HOTSPOT_INSTRUCTIONS; i++) {
		__u32 word = hotspot_four_bytes(w->code + 4 * i);
		__s32 moved = arm64_moved_sp(word);

		if (word == HOTSPOT_LDP_UP) /* calls out in a frame of its own */
			return 0;
		if (moved > 0)
			w->moved = moved;
		if (moved || word == saves)
			return HOTSPOT_BY_LINK;
		if (arm64_ends_path(word))
			break;
	}
	return HOTSPOT_BY_SENDER;
}

UNWIND_INLINE __u32 hotspot_loop(struct unwind_state *s, struct hotspot_walk *w, __u32 loop,
				 __u32 at)
{
	(void)s;
	if (loop == HOTSPOT_FOLLOW_PROLOGUE)
		return hotspot_follow_prologue(w, at);
	return loop == HOTSPOT_FOLLOW_BODY ? hotspot_follow_body(w) : hotspot_follow_adapter(w);
}

UNWIND_INLINE void hotspot_judge_bare(struct hotspot_walk *w)
{
	w->to_cfa = 0;
	w->has_saved_bp = false;
	w->is_linked = true;
}

/* Takes the state that the followed code shows. Returns false if it is unknown, or impossible. */
UNWIND_INLINE bool hotspot_take_end(struct hotspot_walk *w, __u32 found)
{
	w->to_cfa = w->moved;
	w->is_linked = found == HOTSPOT_BY_LINK;
	w->has_saved_bp = !w->is_linked;
	return found && w->moved >= 0 && w->to_cfa < HOTSPOT_FRAME_MAX;
}

/*
 * Finds the state in a method's body. Takes the first of these whose return address follows a call:
 * 1. the end that the code leads to: first, because the frame may contain a former return address;
 * 2. the frame, and what the code will drop before;
 * 3. the frame alone;
 * 4. x30, if it leads out of the method: stubs after a method's code are entered without its frame.
 */
UNWIND_INLINE void hotspot_judge_body(struct unwind_state *s, struct hotspot_walk *w)
{
	__u32 found = hotspot_run_loop(s, w, HOTSPOT_FOLLOW_BODY, 0);

	if (hotspot_take_end(w, found) && (w->is_linked ? hotspot_is_return(s, w, hotspot_link(s))
							: hotspot_is_frame(s, w, w->to_cfa)))
		return;
	w->is_linked = false;
	w->has_saved_bp = true;
	w->to_cfa = w->frame_bytes + w->dropped;
	if (w->dropped && hotspot_is_frame(s, w, w->to_cfa))
		return;
	w->to_cfa = w->frame_bytes;
	if (!hotspot_is_frame(s, w, w->to_cfa) && hotspot_link(s) - w->begin >= w->end - w->begin)
		hotspot_judge_bare(w);
}

UNWIND_INLINE void hotspot_judge_interrupted(struct unwind_state *s, struct hotspot_walk *w)
{
	bool is_early = hotspot_is_early(w, s->ip);

	if (!w->frame_bytes || (is_early && s->ip <= hotspot_entry(w)))
		hotspot_judge_bare(w);
	else if (!unwind_read(s, w->code, HOTSPOT_CODE_BYTES, is_early ? hotspot_entry(w) : s->ip))
		w->to_cfa = 0;
	else if (!is_early)
		hotspot_judge_body(s, w);
	else if (!hotspot_take_end(w, hotspot_run_loop(s, w, HOTSPOT_FOLLOW_PROLOGUE,
						       s->ip - hotspot_entry(w))))
		w->to_cfa = 0;
}

UNWIND_INLINE void hotspot_judge_caller(struct unwind_state *s, struct hotspot_walk *w)
{
	if (!unwind_read(s, w->code, HOTSPOT_CODE_BYTES, s->ip))
		return;
	if (hotspot_run_loop(s, w, HOTSPOT_FOLLOW_BODY, 0) == HOTSPOT_BY_RECORD)
		w->to_cfa = w->moved;
	else
		w->to_cfa += w->dropped;
	if (w->to_cfa >= HOTSPOT_FRAME_MAX || !hotspot_is_frame(s, w, w->to_cfa))
		w->to_cfa = w->frame_bytes;
}

/* ---- stubs ---- */

UNWIND_INLINE bool hotspot_take_rule(struct unwind_state *s, struct hotspot_walk *w,
				     const struct unwind_rule *rule)
{
	__u64 base = rule->kind == UNWIND_BP ? s->bp : s->sp;

	if (rule->kind == UNWIND_BP)
		unwind_use_bp(s);
	w->to_cfa = base - s->sp + rule->cfa_off;
	w->is_linked = rule->extra_place == UNWIND_RA_IN_LINK;
	w->has_saved_bp = !w->is_linked;
	return (rule->kind == UNWIND_BP || rule->kind == UNWIND_SP) && base >= s->sp &&
	       base - s->sp < HOTSPOT_FRAME_MAX &&
	       (w->is_linked || rule->bp_off * UNWIND_BP_UNIT == -16);
}

/* Returns the caller's stack pointer from x13 or x19; sp if that isn't less than max above sp. */
UNWIND_INLINE __u64 hotspot_sender(const struct unwind_state *s, const struct hotspot_walk *w,
				   __u32 max)
{
	__u64 sender = unwind_register(&s->regs, 13);

	if (w->layout.sender_is_x19)
		sender = unwind_register(&s->regs, 19);
	return sender - s->sp < max && !(sender & 15) ? sender : s->sp;
}

UNWIND_INLINE bool hotspot_judge_adapter(struct unwind_state *s, struct hotspot_walk *w)
{
	__u32 found;

	if (!s->has_registers || !unwind_read(s, w->code, HOTSPOT_CODE_BYTES, s->ip))
		return false;
	found = hotspot_run_loop(s, w, HOTSPOT_FOLLOW_ADAPTER, 0);
	hotspot_judge_bare(w);
	w->to_cfa = found == HOTSPOT_BY_SENDER
			    ? hotspot_sender(s, w, HOTSPOT_ARGUMENT_BYTES) - s->sp
			    : (__u64)w->moved;
	return found;
}

/* ---- interpreted methods ---- */

/*
 * Returns the caller's stack pointer at an interpreted method's beginning or end: x13 or x19 has it
 * at the beginning, "and sp, x20, #-16" sets it at the end, and at "ret" sp is it.
 */
UNWIND_INLINE __u64 hotspot_find_sender(struct unwind_state *s, const struct hotspot_walk *w)
{
	__u64 top = unwind_register(&s->regs, 20) & ~15ULL;
	__u32 word = 0;

	if (!unwind_read(s, &word, sizeof(word), s->ip) || word == HOTSPOT_RET)
		return s->sp;
	if (word == HOTSPOT_AND_SP_X20 && top - s->sp < HOTSPOT_FRAME_MAX)
		return top;
	return hotspot_sender(s, w, HOTSPOT_FRAME_MAX);
}

/*
 * x30 has the return address, since the method has not called anything. If the record at x29 has
 * the same one, the method has made its frame, and the caller's x29 is in the record.
 */
UNWIND_INLINE int hotspot_leave_entry(struct unwind_state *s, struct hotspot_walk *w)
{
	struct unwind_frame_record record;
	__u64 address = hotspot_link(s), bp = s->bp;

	unwind_depend(s);
	if (!s->has_registers || !hotspot_is_return(s, w, address))
		return UNWIND_BAD_RULE;
	if (bp - s->sp < HOTSPOT_FRAME_MAX && unwind_read(s, &record, sizeof(record), bp) &&
	    unwind_code_address(record.return_address) == address)
		bp = record.bp;
	s->sp_may_stay = true;
	return hotspot_arrive(s, address, hotspot_find_sender(s, w), bp);
}

/*
 * True if x30 leads to the interpreter, which has called a routine or an interpreted method: in the
 * latter's first instructions, x29 points to the caller's frame, so the method itself is missing.
 * Also true if x30 is the frame's return address, and x22 is in the method's bytecode. Never before
 * the frame has the caller's stack pointer, which it gets after x29 points to it.
 */
UNWIND_INLINE bool hotspot_has_frame(const struct unwind_state *s, const struct hotspot_walk *w)
{
	__u64 link = hotspot_link(s);

	if (!s->has_registers || hotspot_frame(w, 1) - s->bp >= HOTSPOT_FRAME_MAX)
		return false;
	return hotspot_is_interpreter(&w->layout, link) ||
	       (link == unwind_code_address(w->words[11]) &&
		hotspot_bytecode(w, hotspot_position_register(s)) >= 0);
}

#endif
