/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The part of a walk through HotSpot's code (hotspot_walk.h) that is specific to x86-64: a call
 * pushes the return address, and code between calls may push more.
 */
#ifndef ABI_HOTSPOT_X86_H
#define ABI_HOTSPOT_X86_H

#include "abi/hotspot_step.h"

#define HOTSPOT_PROLOGUE     48 /* bytes of a method up to "sub n,%rsp" */
#define HOTSPOT_POLLS	     5	/* instructions from an epilogue's "pop %rbp" to "ret" */
#define HOTSPOT_PUSHED_WORDS 8
#define HOTSPOT_DROPS	     112 /* bytes of code in which a method drops what it has pushed */
#define HOTSPOT_MOVES	     4	 /* instructions that move rsp in these bytes */
#define HOTSPOT_SAVED_RSP    88	 /* offset of rsp where all registers are saved */
#define HOTSPOT_VECTORS	     256 /* bytes of all vector registers' halves */
#define HOTSPOT_POPS	     8

/* Loops over code: see hotspot_run_loop(). */
enum hotspot_loop {
	HOTSPOT_RETURNS,
	HOTSPOT_FIND_SUB,
	HOTSPOT_FIND_MOVE,
	HOTSPOT_FOLLOW_MOVE,
	HOTSPOT_FIND_SAVED,
	HOTSPOT_COUNT_PUSHED,
	HOTSPOT_FIND_FORMER,
};

/* Return registers of frame 0. */
UNWIND_INLINE __u64 hotspot_rax(const struct unwind_state *s)
{
	return unwind_register(&s->regs, 0);
}

UNWIND_INLINE __u64 hotspot_rcx(const struct unwind_state *s)
{
	return unwind_register(&s->regs, 2);
}

UNWIND_INLINE __u64 hotspot_rbx(const struct unwind_state *s)
{
	return unwind_register(&s->regs, 3);
}

UNWIND_INLINE __u64 hotspot_r13(const struct unwind_state *s)
{
	return unwind_register(&s->regs, 13);
}

UNWIND_INLINE __u64 hotspot_position_register(const struct unwind_state *s)
{
	return hotspot_r13(s);
}

/* ---- compiled methods ---- */

UNWIND_INLINE bool hotspot_follows_call(struct unwind_state *s, struct hotspot_walk *w,
					__u64 address)
{
	if (hotspot_is_interpreter(&w->layout, address) ||
	    hotspot_is_continuation(&w->layout, address))
		return true;
	if (!unwind_read(s, w->call, sizeof(w->call), address - 8))
		return false;
	if (w->call[3] == 0xe8 || w->call[3] == 0xe9)
		return true;
	return (w->call[6] == 0xff && (w->call[7] & 0x38) == 0x10) ||
	       (w->call[5] == 0xff && (w->call[6] & 0x38) == 0x10) ||
	       (w->call[4] == 0xff && (w->call[5] & 0x38) == 0x10) ||
	       (w->call[2] == 0xff && (w->call[3] & 0x38) == 0x10) ||
	       (w->call[1] == 0xff && (w->call[2] & 0x38) == 0x10);
}

/*
 * Returns the length of an instruction that polls for a safepoint between a method's "pop %rbp" and
 * "ret"; 0: another instruction.
 */
UNWIND_INLINE __u32 hotspot_poll_bytes(const struct hotspot_walk *w, __u32 at)
{
	__u8 a = hotspot_code(w, at), b = hotspot_code(w, at + 1), c = hotspot_code(w, at + 2);

	if (a == 0x49 && b == 0x3b && (c & 0x3f) == 0x27) /* cmp n(%r15),%rsp */
		return c & 0x40 ? 4 : 7;
	if (a == 0x0f && (b == 0x87 || b == 0x85)) /* ja, jne */
		return 6;
	if (a == 0x77 || a == 0x75)
		return 2;
	if ((a & 0xfd) == 0x4d && b == 0x8b && (c & 7) == 7 && c >> 6) /* mov n(%r15),%r10 */
		return c & 0x40 ? 4 : 7;
	if (a == 0x41 && b == 0x85 && c < 0x40) /* test %eax,(%r10) */
		return 3;
	if (a == 0x85 && b == 0x05) /* test %eax,n(%rip) */
		return 6;
	if (a == 0x49 && b == 0x83 && c == 0x7f) /* cmpq $0,n(%r15) */
		return 5;
	if (a == 0x49 && b == 0x81 && c == 0x7f)
		return 8;
	return a == 0xc5 && c == 0x77 ? 3 : 0; /* vzeroupper */
}

/* Returns true if the code from there on only polls and returns. */
UNWIND_INLINE bool hotspot_returns(const struct hotspot_walk *w, __u32 at)
{
	for (int i = 0; i < HOTSPOT_POLLS; i++) {
		__u8 code = hotspot_code(w, at);
		__u32 n;

		if (code == 0xc3)
			return true;
		n = hotspot_poll_bytes(w, at);
		if (!n)
			return false;
		at += n;
	}
	return false;
}

/* Returns true in stubs of polls, which follow a method and are entered without its frame. */
UNWIND_INLINE bool hotspot_is_frameless_stub(const struct hotspot_walk *w)
{
	__u8 a = hotspot_code(w, 0), b = hotspot_code(w, 1), c = hotspot_code(w, 2);

	if (a == 0x4c && b == 0x8d && c == 0x15) /* lea n(%rip),%r10; mov %r10,n(%r15); jmp */
		return hotspot_code(w, 7) == 0x4d && hotspot_code(w, 8) == 0x89 &&
		       hotspot_code(w, 14) == 0xe9;
	if (a == 0x49 && b == 0xba) /* mov $n,%r10; mov %r10,n(%r15); jmp */
		return hotspot_code(w, 10) == 0x4d && hotspot_code(w, 11) == 0x89 &&
		       hotspot_code(w, 17) == 0xe9;
	return a == 0x4d && b == 0x89 && (c & 0x3f) == 0x17 && hotspot_code(w, 7) == 0xe9;
}

/* Returns the first of n offsets at which four bytes, masked, are the value; n: none. */
UNWIND_INLINE __u32 hotspot_seek(const __u8 *code, __u32 n, __u32 mask, __u32 value)
{
	for (__u32 i = 0; i < n; i++)
		if ((hotspot_four_bytes(code + i) & mask) == value)
			return i;
	return n;
}

/* Finds "sub n,%rsp" in code. Returns its offset; HOTSPOT_PROLOGUE: none. */
UNWIND_INLINE __u32 hotspot_find_sub(const struct hotspot_walk *w)
{
	return hotspot_seek(w->code, HOTSPOT_PROLOGUE, 0xfffdff, 0xec8148);
}

/*
 * Finds the next "add n,%rsp", "sub n,%rsp" or "and n,%rsp" at or after an offset. Returns its
 * offset, at least HOTSPOT_DROPS if there is none.
 */
UNWIND_INLINE __u32 hotspot_find_move(const struct hotspot_walk *w, __u32 from)
{
	if (from >= HOTSPOT_DROPS)
		return from;
	return from + hotspot_seek(&hotspot_code(w, from), HOTSPOT_DROPS, 0xd7ffff, 0xc48348);
}

/* Adds to w->moved what the instruction at that offset drops; w->dropped is the maximum. */
UNWIND_INLINE void hotspot_follow_move(struct hotspot_walk *w, __u32 at)
{
	signed char n = (signed char)hotspot_code(w, at + 3);

	if (at >= HOTSPOT_DROPS)
		return;
	if (hotspot_code(w, at + 2) == 0xec)
		w->moved -= n;
	if (hotspot_code(w, at + 2) == 0xc4 && hotspot_code(w, at + 4) != 0x5d)
		w->moved += n;
	if (w->moved > w->dropped)
		w->dropped = w->moved;
}

/* Returns the number of bytes that a slow path has pushed, by the "pop"s from an offset on. */
UNWIND_INLINE __u32 hotspot_pushed_bytes(const struct hotspot_walk *w, __u32 at)
{
	__u32 bytes = 0;

	for (int i = 0; i < HOTSPOT_POPS; i++) {
		if (hotspot_code(w, at) == 0x41)
			at++;
		if ((hotspot_code(w, at) & 0xf8) != 0x58 || hotspot_code(w, at) == 0x5d)
			break;
		at++;
		bytes += 8;
	}
	return bytes;
}

/*
 * Sets w->dropped to the bytes that the body has pushed, by the code that drops them: "pop"s, and
 * the most that "add n,%rsp" drops in excess of "sub n,%rsp". Before "pop %rbp", "add" removes the
 * frame itself.
 */
UNWIND_INLINE void hotspot_find_dropped(struct unwind_state *s, struct hotspot_walk *w)
{
	__u32 first = hotspot_four_bytes(w->code), pops = 0, at = 0;

	if (first == 0x58242cd9) /* fldcw (%rsp); pop %rax */
		pops = 3;
	else if ((first & 0xff) == 0xe8) /* call */
		pops = 5;
	w->moved = (__s32)hotspot_run_loop(s, w, HOTSPOT_COUNT_PUSHED, pops);
	w->dropped = w->moved;
	for (int i = 0; i < HOTSPOT_MOVES; i++) {
		at = hotspot_run_loop(s, w, HOTSPOT_FIND_MOVE, at);
		hotspot_run_loop(s, w, HOTSPOT_FOLLOW_MOVE, at);
		at += 4;
	}
}

/*
 * Sets the frame's state before an instruction of the prologue, which the code begins with: "push
 * %rbp", maybe "mov %rsp,%rbp", "sub n,%rsp"; or "sub n,%rsp", "mov %rbp,n(%rsp)".
 */
UNWIND_INLINE void hotspot_judge_prologue(struct hotspot_walk *w, __u32 sub, __u64 at)
{
	__u32 sub_end = sub + (hotspot_code(w, sub + 1) == 0x81 ? 7 : 4), push = sub;

	w->to_cfa = w->frame_bytes;
	w->has_saved_bp = true;
	if (sub >= HOTSPOT_PROLOGUE) {
		w->to_cfa = 0; /* unknown */
		return;
	}
	barrier_var(sub); /* keeps masks, which the verifier of 5.10 needs */
	if (sub >= 1 && hotspot_code(w, sub - 1) == 0x55)
		push = sub - 1;
	else if (sub >= 4 && hotspot_code(w, sub - 4) == 0x55 && hotspot_code(w, sub - 3) == 0x48)
		push = sub - 4;
	if (at <= push) {
		w->to_cfa = 8;
		w->has_saved_bp = false;
	} else if (at <= sub) {
		w->to_cfa = 16;
	} else if (push == sub) {
		w->has_saved_bp = at > sub_end; /* mov %rbp,n(%rsp) follows */
	}
}

/* Sets the frame's state before an instruction of the body, which the code begins with. */
UNWIND_INLINE void hotspot_judge_body(struct hotspot_walk *w, bool returns, bool returns_popped)
{
	w->to_cfa = w->frame_bytes;
	w->has_saved_bp = true;
	if (returns_popped)
		w->to_cfa = 16;
	else if (returns || hotspot_is_frameless_stub(w)) {
		w->to_cfa = 8;
		w->has_saved_bp = false;
	}
}

/* Finds the state of an interrupted method's frame. */
UNWIND_INLINE void hotspot_judge(struct unwind_state *s, struct hotspot_walk *w)
{
	__u64 entry = hotspot_entry(w);
	bool is_early = hotspot_is_early(w, s->ip);

	w->to_cfa = 8;
	w->has_saved_bp = false;
	if (!w->frame_bytes || (is_early && s->ip <= entry))
		return;
	if (!unwind_read(s, w->code, HOTSPOT_CODE_BYTES, is_early ? entry : s->ip))
		w->to_cfa = 0;
	else if (is_early)
		hotspot_judge_prologue(w, hotspot_run_loop(s, w, HOTSPOT_FIND_SUB, 0),
				       s->ip - entry);
	else
		hotspot_judge_body(w, hotspot_run_loop(s, w, HOTSPOT_RETURNS, 0),
				   hotspot_code(w, 0) == 0x5d &&
					   hotspot_run_loop(s, w, HOTSPOT_RETURNS, 1));
}

/* Returns true after x87 code's call of a routine: the result goes to memory, and to the FPU. */
UNWIND_INLINE bool hotspot_is_x87(const struct hotspot_walk *w)
{
	if (hotspot_four_bytes(w->code) == 0x08c48348) /* add $8,%rsp; jmp: the stack was aligned */
		return w->code[4] == 0xe9 || w->code[4] == 0xeb;
	return hotspot_four_bytes(w->code + 4) >> 8 == 0x2404dd; /* fldl (%rsp) */
}

/* Returns true if the code may save all registers, or restore them. */
UNWIND_INLINE bool hotspot_saves(const struct hotspot_walk *w)
{
	if ((hotspot_four_bytes(w->code) & 0xd7ffff) == 0xc48148) /* add, sub n,%rsp */
		return true;
	return w->code[3] == 0x24 || w->code[4] == 0x24; /* mov, movdqu: n(%rsp) */
}

/*
 * Returns the bytes that x87 code pushes before it calls a routine: all general registers, with rsp
 * stored five words below the address that it holds, then vectors, maybe their upper halves, and
 * arguments. 0: not found.
 */
UNWIND_INLINE __u32 hotspot_find_saved(struct unwind_state *s, struct hotspot_walk *w)
{
	unwind_depend(s);
	for (int i = 0; i < 3; i++) {
		__u32 from = HOTSPOT_SAVED_RSP + i * HOTSPOT_VECTORS;

		if (!unwind_read(s, w->words, sizeof(w->words), s->sp + from))
			return 0;
		for (__u32 j = 0; j < HOTSPOT_PUSHED_WORDS; j++)
			if (w->words[j] == s->sp + from + 8 * (j + 5))
				return from + 8 * (j + 5);
	}
	return 0;
}

/* Returns true if the code after `at` has "push %rcx; mov %rdi,%rbx", or another register. */
UNWIND_INLINE bool hotspot_pushes_former(struct unwind_state *s, struct hotspot_walk *w, __u64 at)
{
	return unwind_read(s, w->code, HOTSPOT_CODE_BYTES, at) &&
	       hotspot_seek(w->code, HOTSPOT_DROPS, 0xfdffff, 0x894851) < HOTSPOT_DROPS;
}

/*
 * Returns the distance from sp to its value before a search in a string; 0: no search. The search
 * has that value in rcx, copies short strings to the stack, 16 bytes each, pushes rax, rsi and rdi
 * unless it searches a constant, and then rcx, which is on top for 180 bytes of code.
 */
UNWIND_INLINE __u32 hotspot_find_former(struct unwind_state *s, struct hotspot_walk *w)
{
	__u64 held = s->has_registers ? hotspot_rcx(s) - s->sp : 0, pushed = 0, found = 0;

	if (unwind_read(s, &pushed, sizeof(pushed), s->sp))
		pushed -= s->sp;
	if (pushed && pushed <= 64 && !(pushed & 7)) {
		if (hotspot_pushes_former(s, w, s->ip - HOTSPOT_DROPS) ||
		    hotspot_pushes_former(s, w, s->ip - 2 * HOTSPOT_DROPS))
			found = pushed;
	} else if (held && held <= 64 && !(held & 7)) {
		if (hotspot_pushes_former(s, w, s->ip))
			found = held;
	} else {
		return 0;
	}
	if (!unwind_read(s, w->code, HOTSPOT_CODE_BYTES, s->ip))
		found = 0;
	return found;
}

/* Skips `bytes` that the body has pushed, if there is a return address above the frame then. */
UNWIND_INLINE bool hotspot_skip(struct unwind_state *s, struct hotspot_walk *w, __u32 bytes)
{
	if (!bytes || !hotspot_is_frame(s, w, w->to_cfa + bytes))
		return false;
	w->to_cfa += bytes;
	return true;
}

/*
 * Skips what the body has pushed, as its code shows. This comes first, because the frame may have a
 * former return address where one would be if nothing was pushed.
 */
UNWIND_INLINE bool hotspot_judge_dropped(struct unwind_state *s, struct hotspot_walk *w)
{
	__u32 saved = 0;

	if (hotspot_is_early(w, s->ip))
		return false;
	if (hotspot_skip(s, w, hotspot_run_loop(s, w, HOTSPOT_FIND_FORMER, 0)))
		return true;
	if (w->layout.has_x87 && hotspot_saves(w))
		saved = hotspot_run_loop(s, w, HOTSPOT_FIND_SAVED, 0);
	if (saved)
		return hotspot_skip(s, w, saved);
	hotspot_find_dropped(s, w);
	return hotspot_skip(s, w, (__u32)w->dropped);
}

/*
 * If there is no return address above the frame, either the code has pushed something, or it is a
 * stub that follows a method: a stub for a call that isn't linked yet, or for a poll after the
 * frame has been removed.
 */
UNWIND_INLINE void hotspot_judge_interrupted(struct unwind_state *s, struct hotspot_walk *w)
{
	__u64 address = 0;

	hotspot_judge(s, w);
	if (w->to_cfa != w->frame_bytes || hotspot_judge_dropped(s, w) ||
	    hotspot_is_frame(s, w, w->to_cfa))
		return;
	if (!unwind_read(s, &address, sizeof(address), s->sp) ||
	    !hotspot_is_return(s, w, address)) {
		w->to_cfa += 8; /* a comparison of strings pushes a word */
	} else if (address - w->begin < w->end - w->begin) {
		hotspot_note_pc(s, w, address);
		w->to_cfa += 8;
	} else {
		w->to_cfa = 8;
		w->has_saved_bp = false;
	}
}

UNWIND_INLINE void hotspot_judge_caller(struct unwind_state *s, struct hotspot_walk *w)
{
	if (unwind_read(s, w->code, HOTSPOT_CODE_BYTES, s->ip))
		w->to_cfa += w->layout.has_x87 && hotspot_is_x87(w)
				     ? hotspot_run_loop(s, w, HOTSPOT_FIND_SAVED, 0)
				     : hotspot_run_loop(s, w, HOTSPOT_COUNT_PUSHED, 0);
}

UNWIND_INLINE __u32 hotspot_loop(struct unwind_state *s, struct hotspot_walk *w, __u32 loop,
				 __u32 at)
{
	switch (loop) {
	case HOTSPOT_RETURNS:
		return hotspot_returns(w, at);
	case HOTSPOT_FIND_SUB:
		return hotspot_find_sub(w);
	case HOTSPOT_FIND_MOVE:
		return hotspot_find_move(w, at);
	case HOTSPOT_FIND_SAVED:
		return hotspot_find_saved(s, w);
	case HOTSPOT_COUNT_PUSHED:
		return hotspot_pushed_bytes(w, at);
	case HOTSPOT_FIND_FORMER:
		return hotspot_find_former(s, w);
	default:
		hotspot_follow_move(w, at);
		return 0;
	}
}

/* ---- stubs ---- */

UNWIND_INLINE bool hotspot_take_rule(struct unwind_state *s, struct hotspot_walk *w,
				     const struct unwind_rule *rule)
{
	__u64 base = rule->kind == UNWIND_BP ? s->bp : s->sp;

	if (rule->kind == UNWIND_BP)
		unwind_use_bp(s);
	w->to_cfa = base - s->sp + rule->cfa_off;
	w->has_saved_bp = rule->bp_kind == UNWIND_BP_AT_CFA;
	w->bp_off = rule->bp_off;
	return (rule->kind == UNWIND_BP || rule->kind == UNWIND_SP) && base >= s->sp &&
	       base - s->sp < HOTSPOT_FRAME_MAX;
}

UNWIND_INLINE void hotspot_judge_bare(struct hotspot_walk *w)
{
	w->to_cfa = 8;
	w->has_saved_bp = false;
}

/*
 * Finds the state in an adapter between compiled and interpreted code, which copies the return
 * address below the arguments, by way of rax. The caller's stack begins at r13, once that is set;
 * an argument may overwrite the first copy.
 */
UNWIND_INLINE bool hotspot_judge_adapter(struct unwind_state *s, struct hotspot_walk *w)
{
	__u64 address = 0, first = 0, distance = hotspot_r13(s) - s->sp;

	if (!s->has_registers)
		return false;
	hotspot_judge_bare(w);
	if (distance > 8 && distance <= HOTSPOT_ARGUMENT_BYTES &&
	    unwind_read(s, &address, sizeof(address), s->sp) &&
	    unwind_read(s, &first, sizeof(first), hotspot_r13(s) - 8) &&
	    (first == address || hotspot_rax(s) == address))
		w->to_cfa = distance;
	return true;
}

/* ---- interpreted methods ---- */

/*
 * Finds the caller of an interpreted method that is entered or left, at *ip, with the stack pointer
 * *sp. The return address is on the stack, under the caller's rbp, or in a register:
 *
 *	entry	call pushes it; pop %rax, locals are pushed, push %rax, push %rbp
 *	exit	leave; pop %r13
 *
 * r13 (entry) or rbx (exit) is the caller's stack pointer, above arguments and locals.
 */
UNWIND_INLINE bool hotspot_find_sender(struct unwind_state *s, struct hotspot_walk *w, __u64 *ip,
				       __u64 *sp)
{
	__u64 words[2];

	if (!s->has_registers || !unwind_read(s, words, sizeof(words), s->sp))
		return false;
	*sp = hotspot_r13(s) - s->sp < HOTSPOT_FRAME_MAX ? hotspot_r13(s) : hotspot_rbx(s);
	*ip = words[0];
	if (!hotspot_is_return(s, w, *ip))
		*ip = words[0] == s->bp ? words[1] : hotspot_r13(s);
	if (!hotspot_is_return(s, w, *ip))
		*ip = hotspot_rax(s);
	return *sp - s->sp < HOTSPOT_FRAME_MAX && hotspot_is_return(s, w, *ip);
}

/* Leaves the method once rbp points to its frame, which is not complete yet. */
UNWIND_INLINE int hotspot_leave_new_frame(struct unwind_state *s, struct hotspot_walk *w)
{
	struct unwind_frame_record record;
	__u64 sp = hotspot_r13(s);

	if (!unwind_read(s, &record, sizeof(record), s->bp) ||
	    (s->sp < s->bp && !unwind_read(s, &sp, sizeof(sp), s->bp - 8)))
		return UNWIND_FAULT;
	if (sp - s->bp >= HOTSPOT_FRAME_MAX || !hotspot_is_return(s, w, record.return_address))
		return UNWIND_BAD_RULE;
	return hotspot_arrive(s, record.return_address, sp, record.bp);
}

UNWIND_INLINE int hotspot_leave_entry(struct unwind_state *s, struct hotspot_walk *w)
{
	__u64 ip, sp;

	unwind_depend(s);
	if (s->has_registers && s->bp - s->sp < hotspot_fixed_bytes(w))
		return hotspot_leave_new_frame(s, w);
	if (!hotspot_find_sender(s, w, &ip, &sp))
		return UNWIND_BAD_RULE;
	s->sp_may_stay = true;
	return hotspot_arrive(s, ip, sp, s->bp);
}

/* Since 21, the note is a number of words from rbp. */
UNWIND_INLINE bool hotspot_is_noted(const struct unwind_state *s, __u64 noted, __u64 sp)
{
	return sp == noted || (__s64)(sp - s->bp) >> 3 == (__s64)noted;
}

/*
 * Returns true if an interrupted instruction of the interpreter runs the complete frame at rbp. A
 * frame notes its stack pointer when it calls a method, until that returns. r13 has the same value
 * while the interpreter jumps to the method, and rsp has it after the method has returned.
 */
UNWIND_INLINE bool hotspot_has_frame(const struct unwind_state *s, const struct hotspot_walk *w)
{
	__u64 noted = hotspot_frame(w, 2);

	if (s->bp - s->sp < hotspot_fixed_bytes(w))
		return false;
	return !noted || hotspot_is_noted(s, noted, s->sp) ||
	       (s->has_registers && hotspot_is_noted(s, noted, hotspot_r13(s)));
}

#endif
