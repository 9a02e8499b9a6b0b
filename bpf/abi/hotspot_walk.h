/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Leaves one frame of HotSpot's code on x86-64: the same code in the kernel (hotspot.bpf.h) and in
 * the loader (hotspot/leave.c). The includer must define what unwind_walk.h requires, and the
 * functions declared below, which the kernel's verifier checks one by one.
 *
 * A compiled method has a fixed frame: at a return address the caller's stack begins frame_bytes
 * above sp, with the return address and rbp below it. At an interrupted instruction, the frame may
 * not exist yet, or no longer, as the instruction's bytes show; a return address found there has to
 * follow a call.
 */
#ifndef ABI_HOTSPOT_WALK_H
#define ABI_HOTSPOT_WALK_H

#include "abi/hotspot.h"
#include "abi/unwind_step.h"

#define HOTSPOT_HOPS	       64 /* steps along the map of segments; merged blocks need several */
#define HOTSPOT_PROLOGUE       48 /* bytes of a method up to "sub n,%rsp" */
#define HOTSPOT_POLLS	       5  /* instructions from an epilogue's "pop %rbp" to "ret" */
#define HOTSPOT_PUSHED_WORDS   8
#define HOTSPOT_DROPS	       112 /* bytes of code in which a method drops what it has pushed */
#define HOTSPOT_MOVES	       4   /* instructions that move rsp in these bytes */
#define HOTSPOT_SAVED_RSP      88  /* offset of rsp where all registers are saved */
#define HOTSPOT_VECTORS	       256 /* bytes of all vector registers' halves */
#define HOTSPOT_ARGUMENT_BYTES 2048
#define HOTSPOT_POPS	       8
#define HOTSPOT_FRAME_MAX      (1U << 20) /* bytes */

/* Notes that the current frame, of deoptimized code or in a stub, returns to pc. */
UNWIND_INLINE void hotspot_note_pc(struct unwind_state *s, struct hotspot_walk *w, __u64 pc);

/* Call hotspot_returns(), hotspot_find_sub(), and so on. */
UNWIND_INLINE bool hotspot_check_returns(struct hotspot_walk *w, __u32 at);
UNWIND_INLINE __u32 hotspot_get_sub(struct hotspot_walk *w);
UNWIND_INLINE __u32 hotspot_get_move(struct hotspot_walk *w, __u32 from);
UNWIND_INLINE void hotspot_apply_move(struct hotspot_walk *w, __u32 at);
UNWIND_INLINE __u32 hotspot_get_saved(struct unwind_state *s, struct hotspot_walk *w);

/* Returns the rule for an instruction of a stub; NULL: none. */
UNWIND_INLINE const struct unwind_rule *hotspot_find_rule(struct unwind_state *s,
							  struct hotspot_walk *w, __u64 ip);

#define hotspot_u64(w, field) (*(__u64 *)((w)->block + ((w)->layout.field & 511)))
#define hotspot_u32(w, field) (*(__u32 *)((w)->block + ((w)->layout.field & 511)))
#define hotspot_u16(w, field) (*(__u16 *)((w)->block + ((w)->layout.field & 511)))
#define hotspot_code(w, at)   ((w)->code[(at) & (HOTSPOT_CODE_BYTES - 1)])

/* Return registers of frame 0. Machines other than x86-64 don't have them by name. */
UNWIND_INLINE __u64 hotspot_rax(const struct unwind_state *s)
{
	return unwind_register(&s->regs, 0);
}

UNWIND_INLINE __u64 hotspot_rbx(const struct unwind_state *s)
{
	return unwind_register(&s->regs, 3);
}

UNWIND_INLINE __u64 hotspot_r13(const struct unwind_state *s)
{
	return unwind_register(&s->regs, 13);
}

/* ---- blobs ---- */

UNWIND_INLINE bool hotspot_is_in(const struct hotspot_heap *heap, __u64 addr)
{
	return addr >= heap->low && addr < heap->high;
}

UNWIND_INLINE bool hotspot_has(const struct hotspot_layout *l, __u64 addr)
{
	return hotspot_is_in(&l->heaps[0], addr) || hotspot_is_in(&l->heaps[1], addr) ||
	       hotspot_is_in(&l->heaps[2], addr);
}

UNWIND_INLINE bool hotspot_is_interpreter(const struct hotspot_layout *l, __u64 ip)
{
	return ip >= l->interpreter_low && ip < l->interpreter_high;
}

/* Returns true in stubs that fetch a virtual thread's frames from the heap. */
UNWIND_INLINE bool hotspot_is_continuation(const struct hotspot_layout *l, __u64 ip)
{
	return ip >= l->continuation_low && ip < l->continuation_high;
}

/* Returns the bytes of an interpreted frame below rbp, up to its expressions. */
UNWIND_INLINE __u64 hotspot_fixed_bytes(const struct hotspot_walk *w)
{
	return 8 * (w->layout.bcp_words + 1ULL);
}

/* Returns the address of the block that contains an address; 0: none. */
UNWIND_INLINE __u64 hotspot_find_block(struct unwind_state *s, const struct hotspot_layout *l,
				       __u64 addr)
{
	const struct hotspot_heap *heap = &l->heaps[0];
	__u64 segment;
	__u8 back = 0;

	if (hotspot_is_in(&l->heaps[1], addr))
		heap = &l->heaps[1];
	if (hotspot_is_in(&l->heaps[2], addr))
		heap = &l->heaps[2];
	if (!hotspot_is_in(heap, addr))
		return 0;
	segment = (addr - heap->low) >> (l->log2_segment & 31);
	for (int i = 0; i < HOTSPOT_HOPS; i++) {
		if (!unwind_read(s, &back, 1, heap->segments + segment) || back == 0xff)
			return 0;
		if (!back)
			return heap->low + (segment << (l->log2_segment & 31));
		segment -= back;
	}
	return 0;
}

/* Returns an address in the same block, near its beginning: the interpreter's is large. */
UNWIND_INLINE __u64 hotspot_blob_address(const struct hotspot_layout *l, __u64 ip)
{
	return hotspot_is_interpreter(l, ip) ? l->interpreter_low : ip;
}

/* Takes what the walk needs from the block that has been read. */
UNWIND_INLINE bool hotspot_take_blob(struct hotspot_walk *w, __u64 block)
{
	const struct hotspot_layout *l = &w->layout;

	w->blob = block + l->header_bytes;
	w->begin = l->has_code_addresses ? hotspot_u64(w, code_begin)
					 : w->blob + hotspot_u32(w, code_begin);
	w->end = l->has_code_addresses ? hotspot_u64(w, code_end)
				       : w->blob + hotspot_u32(w, code_end);
	w->frame_bytes = hotspot_u32(w, frame_words) * 8;
	if (w->frame_bytes >= 1 << 20)
		w->frame_bytes = 0;
	w->compile_id = hotspot_u32(w, compile_id);
	w->method = hotspot_u64(w, method);
	return w->block[l->block_used & 63] == 1;
}

/* Returns true for a compiled method or a native one's wrapper. Caches their names' addresses. */
UNWIND_INLINE bool hotspot_is_method(struct unwind_state *s, struct hotspot_walk *w)
{
	__u64 name = hotspot_u64(w, name), text = 0;

	if (name == w->layout.names[0] || name == w->layout.names[1])
		return name;
	if (!unwind_read(s, &text, sizeof(text), name))
		return false;
	if (text == 0x00646f6874656d6eULL) /* "nmethod" */
		w->layout.names[0] = name;
	else if (text == 0x6e2065766974616eULL) /* "native n[method]" */
		w->layout.names[1] = name;
	else
		return false;
	return true;
}

/* ---- compiled methods ---- */

/*
 * Returns true for a return address: one after a call, or one to which frames return without a
 * call.
 */
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

/* Finds "sub n,%rsp" in code. Returns its offset; HOTSPOT_PROLOGUE: none. */
UNWIND_INLINE __u32 hotspot_find_sub(const struct hotspot_walk *w)
{
	for (__u32 i = 0; i < HOTSPOT_PROLOGUE; i++)
		if (w->code[i] == 0x48 && (w->code[i + 1] | 2) == 0x83 && w->code[i + 2] == 0xec)
			return i;
	return HOTSPOT_PROLOGUE;
}

/* Returns four bytes of code, in BPF by one load, aligned or not. */
UNWIND_INLINE __u32 hotspot_four_bytes(const __u8 *code)
{
	__u32 bytes;

#ifdef __bpf__
	bytes = *(const __u32 *)code;
	__asm__("" : "+r"(bytes));
#else
	__builtin_memcpy(&bytes, code, sizeof(bytes));
#endif
	return bytes;
}

/*
 * Finds the next "add n,%rsp", "sub n,%rsp" or "and n,%rsp" at or after an offset. Returns its
 * offset, at least HOTSPOT_DROPS if there is none.
 */
UNWIND_INLINE __u32 hotspot_find_move(const struct hotspot_walk *w, __u32 from)
{
	const __u8 *code = &hotspot_code(w, from);

	if (from >= HOTSPOT_DROPS)
		return from;
	for (__u32 i = 0; i < HOTSPOT_DROPS; i++)
		if ((hotspot_four_bytes(code + i) & 0xd7ffff) == 0xc48348)
			return from + i;
	return HOTSPOT_DROPS;
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

/*
 * Sets w->dropped to the bytes that the body has pushed, by the code that drops them: "pop"s, and
 * the most that "add n,%rsp" drops in excess of "sub n,%rsp". Before "pop %rbp", "add" removes the
 * frame itself.
 */
UNWIND_INLINE void hotspot_find_dropped(struct hotspot_walk *w)
{
	__u32 first = hotspot_four_bytes(w->code), at = 0;

	/* pop %rax, or "fldcw (%rsp)" before it */
	w->moved = (first & 0xff) == 0x58 || first == 0x58242cd9 ? 8 : 0;
	w->dropped = w->moved;
	for (int i = 0; i < HOTSPOT_MOVES; i++) {
		at = hotspot_get_move(w, at);
		hotspot_apply_move(w, at);
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
	__asm__("" : "+r"(sub)); /* keeps masks, which the verifier of 5.10 needs */
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

UNWIND_INLINE __u64 hotspot_entry(const struct hotspot_walk *w)
{
	return w->layout.has_entry_address ? hotspot_u64(w, entry)
					   : w->begin + hotspot_u16(w, entry);
}

/* Returns true where the frame isn't complete yet. */
UNWIND_INLINE bool hotspot_is_early(const struct hotspot_walk *w, __u64 pc)
{
	__s32 complete = w->layout.is_complete_short ? (__s16)hotspot_u16(w, frame_complete)
						     : (__s32)hotspot_u32(w, frame_complete);

	return (__s64)(pc - w->begin) < complete;
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
		hotspot_judge_prologue(w, hotspot_get_sub(w), s->ip - entry);
	else
		hotspot_judge_body(w, hotspot_check_returns(w, 0),
				   hotspot_code(w, 0) == 0x5d && hotspot_check_returns(w, 1));
}

/* Returns the number of bytes that a slow path has pushed, by the "pop"s after its call. */
UNWIND_INLINE __u32 hotspot_pushed_bytes(const struct hotspot_walk *w)
{
	__u32 at = 0, bytes = 0;

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

/* Returns true for an address after a call in HotSpot's code. */
UNWIND_INLINE bool hotspot_is_return(struct unwind_state *s, struct hotspot_walk *w, __u64 address)
{
	return hotspot_has(&w->layout, address) && hotspot_follows_call(s, w, address);
}

/* Moves on to the caller. HotSpot's code does not preserve the extra register. */
UNWIND_INLINE int hotspot_arrive(struct unwind_state *s, __u64 ip, __u64 sp, __u64 bp)
{
	s->has_extra = false;
	return unwind_arrive(s, ip, sp, bp);
}

/*
 * Leaves a frame of known size. is_sure: a call has certainly been made from it. Only stubs are
 * called by native code, too.
 */
UNWIND_INLINE int hotspot_leave(struct unwind_state *s, struct hotspot_walk *w, bool is_sure)
{
	__u64 cfa = s->sp + w->to_cfa;
	struct unwind_frame_record saved;

	if (!w->to_cfa)
		return UNWIND_BAD_RULE;
	if (!unwind_read(s, &saved, sizeof(saved), cfa - sizeof(saved)) ||
	    (w->bp_off && !unwind_read(s, &saved.bp, sizeof(saved.bp), cfa + w->bp_off)))
		return UNWIND_FAULT;
	unwind_note(s, cfa - sizeof(__u64), saved.return_address);
	if (!hotspot_has(&w->layout, saved.return_address)) {
		if (w->method)
			return UNWIND_BAD_RULE;
		is_sure = false;
	}
	if (!is_sure && !hotspot_follows_call(s, w, saved.return_address))
		return UNWIND_BAD_RULE;
	if (w->has_saved_bp)
		s->bp_at = cfa + (w->bp_off ? w->bp_off : -(__s32)sizeof(saved));
	return hotspot_arrive(s, saved.return_address, cfa, w->has_saved_bp ? saved.bp : s->bp);
}

/* Returns the address of a handler to which deoptimized frames return. */
UNWIND_INLINE __u64 hotspot_deopt(const struct hotspot_walk *w, int i)
{
	return w->layout.has_deopt_address ? hotspot_u64(w, deopts[i])
					   : w->blob + hotspot_u32(w, deopts[i]);
}

/* Returns the address to which a deoptimized frame would have returned; 0: not deoptimized. */
UNWIND_INLINE __u64 hotspot_original_pc(struct unwind_state *s, const struct hotspot_walk *w)
{
	__u32 at = hotspot_u32(w, original_pc);
	__u64 pc = 0;

	if ((s->ip != hotspot_deopt(w, 0) && s->ip != hotspot_deopt(w, 1)) ||
	    at >= w->frame_bytes || !unwind_read(s, &pc, sizeof(pc), s->sp + at))
		return 0;
	unwind_note(s, s->sp + at, pc);
	return pc >= w->begin && pc < w->end ? pc : 0;
}

/*
 * Returns true if the return address of a frame of to_cfa bytes follows a call in HotSpot's code.
 */
UNWIND_INLINE bool hotspot_is_frame(struct unwind_state *s, struct hotspot_walk *w, __u32 to_cfa)
{
	__u64 address;

	return unwind_read(s, &address, sizeof(address), s->sp + to_cfa - 8) &&
	       hotspot_is_return(s, w, address);
}

/*
 * Returns the bytes that an interrupted method has pushed on its frame: a comparison of strings
 * pushes a word, a search in a string also the former stack pointer, which lies nearby. 0: not
 * found.
 */
UNWIND_INLINE __u32 hotspot_find_pushed(struct unwind_state *s, struct hotspot_walk *w)
{
	if (!unwind_read(s, w->words, sizeof(w->words), s->sp))
		return 0;
	for (int i = 0; i < HOTSPOT_PUSHED_WORDS; i++) {
		__u64 pushed = w->words[i] - s->sp;

		if (pushed > 8U * i && pushed <= 8U * (i + HOTSPOT_PUSHED_WORDS) && !(pushed & 7))
			return pushed;
	}
	return 8;
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
	if (w->layout.has_x87 && hotspot_saves(w))
		saved = hotspot_get_saved(s, w);
	if (saved)
		w->dropped = (__s32)saved;
	else
		hotspot_find_dropped(w);
	if (!w->dropped || !hotspot_is_frame(s, w, w->to_cfa + w->dropped))
		return false;
	w->to_cfa += w->dropped;
	return true;
}

/*
 * If there is no return address above the frame, either the code has pushed something, or it is a
 * stub that follows a method: a stub for a call that isn't linked yet, or for a poll after the
 * frame has been removed.
 */
UNWIND_INLINE void hotspot_judge_all(struct unwind_state *s, struct hotspot_walk *w)
{
	__u64 address = 0;

	hotspot_judge(s, w);
	if (w->to_cfa != w->frame_bytes || hotspot_judge_dropped(s, w) ||
	    hotspot_is_frame(s, w, w->to_cfa))
		return;
	if (!unwind_read(s, &address, sizeof(address), s->sp) ||
	    !hotspot_is_return(s, w, address)) {
		w->to_cfa += hotspot_find_pushed(s, w);
	} else if (address - w->begin < w->end - w->begin) {
		hotspot_note_pc(s, w, address);
		w->to_cfa += 8;
	} else {
		w->to_cfa = 8;
		w->has_saved_bp = false;
	}
}

/* Leaves a compiled method. */
UNWIND_INLINE int hotspot_leave_method(struct unwind_state *s, struct hotspot_walk *w)
{
	__u64 pc = hotspot_original_pc(s, w);

	w->to_cfa = w->frame_bytes;
	w->has_saved_bp = true;
	w->bp_off = 0;
	if (pc)
		hotspot_note_pc(s, w, pc);
	else if (s->ip_is_exact)
		hotspot_judge_all(s, w);
	else if (!w->is_called && unwind_read(s, w->code, HOTSPOT_CODE_BYTES, s->ip))
		w->to_cfa += w->layout.has_x87 && hotspot_is_x87(w) ? hotspot_get_saved(s, w)
								    : hotspot_pushed_bytes(w);
	return hotspot_leave(s, w, w->is_called);
}

/* ---- identity ---- */

#define hotspot_constant(w, type, field) (*(type *)((w)->constant + ((w)->layout.field & 127)))

/* Returns the address of the pool's word for the method's name. */
UNWIND_INLINE __u64 hotspot_name_at(const struct hotspot_walk *w)
{
	return w->pool + w->layout.pool_bytes + 8ULL * hotspot_constant(w, __u16, const_name);
}

/* Reads the addresses of a method's parts and names. */
UNWIND_INLINE bool hotspot_read_method(struct unwind_state *s, struct hotspot_walk *w)
{
	const struct hotspot_layout *l = &w->layout;

	if (w->method & 7 || !unwind_read(s, &w->constant_at, 8, w->method + l->method_const) ||
	    !unwind_read(s, w->constant, HOTSPOT_CONST_BYTES, w->constant_at))
		return false;
	w->pool = hotspot_constant(w, __u64, const_pool);
	return unwind_read(s, &w->holder, 8, w->pool + l->pool_holder) &&
	       unwind_read(s, &w->class_symbol, 8, w->holder + l->class_name) &&
	       unwind_read(s, &w->method_symbol, 8, hotspot_name_at(w));
}

/*
 * Sets the fingerprint, which no other method of the process has, also after this one is freed:
 * then the addresses are reused, so the names of an interpreted method belong to it.
 */
UNWIND_INLINE void hotspot_identify(struct hotspot_walk *w)
{
	__u64 hash = runtime_mix(w->serial, w->method ? w->method : hotspot_u64(w, name));

	if (w->blob) {
		hash = runtime_mix(runtime_mix(hash, w->blob), w->compile_id);
	} else {
		hash = runtime_mix(runtime_mix(hash, w->constant_at), w->pool);
		hash = runtime_mix(hash, w->names);
	}
	w->fingerprint = hash * 0xbf58476d1ce4e5b9ULL | 2;
}

/* ---- stubs, and calls from C++ ---- */

/* Leaves the call stub's frame by rbp. */
UNWIND_INLINE int hotspot_leave_by_bp(struct unwind_state *s)
{
	struct unwind_frame_record record;

	unwind_use_bp(s);
	if (s->bp < s->sp || s->bp - s->sp >= 4096 ||
	    !unwind_read(s, &record, sizeof(record), s->bp))
		return UNWIND_BAD_RULE;
	unwind_note(s, s->bp + sizeof(__u64), record.return_address);
	s->bp_at = s->bp;
	return hotspot_arrive(s, record.return_address, s->bp + sizeof(record), record.bp);
}

/* Converts a stub's rule to the frame's state. False if the rule is of another kind. */
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
	       base - s->sp < 1 << 20;
}

/* Returns the first eight letters of a stub's name. */
UNWIND_INLINE __u64 hotspot_stub_name(struct unwind_state *s, const struct hotspot_walk *w)
{
	__u64 name = 0;

	return unwind_read(s, &name, sizeof(name), hotspot_u64(w, name)) ? name : 0;
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
	w->to_cfa = 8;
	w->has_saved_bp = false;
	if (distance > 8 && distance <= HOTSPOT_ARGUMENT_BYTES &&
	    unwind_read(s, &address, sizeof(address), s->sp) &&
	    unwind_read(s, &first, sizeof(first), hotspot_r13(s) - 8) &&
	    (first == address || hotspot_rax(s) == address))
		w->to_cfa = distance;
	return true;
}

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

/*
 * Leaves the interpreter, or an adapter of method handles, where rbp doesn't point to a frame of
 * its own.
 */
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

/*
 * Leaves a stub without rules. Stubs of virtual calls have no frame; the loader's rules may be
 * older than the stub.
 */
UNWIND_INLINE int hotspot_leave_adapter(struct unwind_state *s, struct hotspot_walk *w)
{
	__u64 name = hotspot_stub_name(s, w);

	unwind_depend(s);
	if (name == 0x6148646f6874654dULL) /* "MethodHa[ndles adapters]" */
		return hotspot_leave_entry(s, w);
	w->to_cfa = 8;
	w->has_saved_bp = false;
	if (name == 0x6320656c62617476ULL) /* "vtable c[hunks]" */
		return hotspot_leave(s, w, false);
	if (name != 0x204932432f433249ULL || !hotspot_judge_adapter(s, w)) /* "I2C/C2I " */
		return UNWIND_BAD_RULE;
	return hotspot_leave(s, w, false);
}

/*
 * Leaves a stub of continuations to the carrier's frame, which it finds by the JavaThread, as the
 * stub does: a return leads there, not a call.
 */
UNWIND_INLINE int hotspot_leave_continuation(struct unwind_state *s, const struct hotspot_walk *w)
{
	const struct hotspot_layout *l = &w->layout;
	__u64 at;

	unwind_depend(s);
	if (!unwind_read(s, &at, sizeof(at), unwind_thread_base(s) + 8) ||
	    !unwind_read(s, &at, sizeof(at), at + l->dtv_entry) ||
	    !unwind_read(s, &at, sizeof(at), at + l->thread_in_block) ||
	    !unwind_read(s, &at, sizeof(at), at + l->thread_entry))
		return UNWIND_FAULT;
	if (at - s->sp >= HOTSPOT_FRAME_MAX)
		return UNWIND_BAD_RULE;
	s->sp_may_stay = true;
	return hotspot_arrive(s, l->continuation_return, at, s->bp);
}

/* Leaves a stub: by its frame, if it has one and has made a call, else by its rule. */
UNWIND_INLINE int hotspot_leave_stub(struct unwind_state *s, struct hotspot_walk *w)
{
	const struct unwind_rule *rule;

	if (s->ip == w->layout.call_stub)
		return hotspot_leave_by_bp(s);
	if (hotspot_is_continuation(&w->layout, s->ip))
		return hotspot_leave_continuation(s, w);
	if (hotspot_is_interpreter(&w->layout, s->ip))
		return hotspot_leave_entry(s, w);
	w->bp_off = 0;
	w->to_cfa = w->frame_bytes;
	w->has_saved_bp = true;
	if (s->ip_is_exact || !w->frame_bytes) {
		rule = hotspot_find_rule(s, w, s->ip - !s->ip_is_exact);
		if (!rule || !hotspot_take_rule(s, w, rule))
			return hotspot_leave_adapter(s, w);
	}
	return hotspot_leave(s, w, !s->ip_is_exact);
}

/* ---- interpreted methods ---- */

#define HOTSPOT_FRAME_BELOW 80			   /* bytes of words[] below rbp */
#define hotspot_frame(w, n) ((w)->words[10 - (n)]) /* the n-th word below rbp */

UNWIND_INLINE bool hotspot_read_frame(struct unwind_state *s, struct hotspot_walk *w)
{
	return s->bp >= s->sp && s->bp - s->sp < (1 << 20) && !(s->bp & 7) &&
	       unwind_read(s, w->words, sizeof(w->words), s->bp - HOTSPOT_FRAME_BELOW);
}

/* Returns the offset of a position in the method's bytecode; -1: it isn't in there. */
UNWIND_INLINE __s32 hotspot_bytecode(const struct hotspot_walk *w, __u64 position)
{
	__u64 offset = position - w->constant_at - w->layout.const_bytes;

	return offset < hotspot_constant(w, __u16, const_code_bytes) ? (__s32)offset : -1;
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

UNWIND_INLINE __u64 hotspot_saved_position(const struct hotspot_walk *w)
{
	return w->layout.bcp_words == 7 ? hotspot_frame(w, 7) : hotspot_frame(w, 8);
}

/* Finds an interpreted frame, its method, and the position in it. */
UNWIND_INLINE bool hotspot_find_interpreted(struct unwind_state *s, struct hotspot_walk *w)
{
	if (!hotspot_read_frame(s, w))
		return false;
	w->method = hotspot_frame(w, 3);
	w->blob = 0;
	if (!hotspot_read_method(s, w))
		return false;
	w->position = hotspot_bytecode(w, hotspot_saved_position(w));
	if (!s->ip_is_exact)
		return true;
	if (!s->has_registers)
		w->position = -1;
	else if (hotspot_bytecode(w, hotspot_r13(s)) >= 0)
		w->position = hotspot_bytecode(w, hotspot_r13(s));
	return hotspot_has_frame(s, w);
}

/* Leaves the interpreted frame that was found. */
UNWIND_INLINE int hotspot_leave_interpreted(struct unwind_state *s, const struct hotspot_walk *w)
{
	unwind_use_bp(s);
	unwind_note(s, s->bp - 8, hotspot_frame(w, 1));
	unwind_note(s, s->bp + 8, w->words[11]);
	s->bp_at = s->bp;
	return hotspot_arrive(s, w->words[11], hotspot_frame(w, 1), w->words[10]);
}

#endif
