/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Helpers for each architecture's part of a walk through HotSpot's code; see hotspot_walk.h.
 *
 * A compiled method has a fixed frame: at a return address the caller's stack begins frame_bytes
 * above sp, with the return address and the frame pointer below it.
 */
#ifndef ABI_HOTSPOT_STEP_H
#define ABI_HOTSPOT_STEP_H

#include "abi/hotspot.h"
#include "abi/unwind_step.h"

#define HOTSPOT_HOPS	       64 /* steps along the map of segments; merged blocks need several */
#define HOTSPOT_ARGUMENT_BYTES 2048
#define HOTSPOT_FRAME_MAX      (1U << 20) /* bytes */

/* Notes that the current frame, of deoptimized code or in a stub, returns to pc. */
UNWIND_INLINE void hotspot_note_pc(struct unwind_state *s, struct hotspot_walk *w, __u64 pc);

/*
 * Returns true for a return address: one after a call, or one to which frames return without a
 * call.
 */
UNWIND_INLINE bool hotspot_follows_call(struct unwind_state *s, struct hotspot_walk *w,
					__u64 address);

/* Calls hotspot_loop(): in the kernel it is a global function, so that it is verified once. */
UNWIND_INLINE __u32 hotspot_run_loop(struct unwind_state *s, struct hotspot_walk *w, __u32 loop,
				     __u32 at);

/* ---- defined by hotspot_x86.h and hotspot_arm64.h ---- */

/*
 * Runs one of the loops over code (enum hotspot_loop), which are many instructions to the verifier.
 * at, and the result, depend on the loop.
 */
UNWIND_INLINE __u32 hotspot_loop(struct unwind_state *s, struct hotspot_walk *w, __u32 loop,
				 __u32 at);

/* Sets the frame's state (to_cfa, has_saved_bp, is_linked) at an interrupted instruction. */
UNWIND_INLINE void hotspot_judge_interrupted(struct unwind_state *s, struct hotspot_walk *w);

/* Adds to to_cfa what a method has pushed before it called a stub. */
UNWIND_INLINE void hotspot_judge_caller(struct unwind_state *s, struct hotspot_walk *w);

/* Sets the state of code that moves nothing on the stack. */
UNWIND_INLINE void hotspot_judge_bare(struct hotspot_walk *w);

/*
 * Sets the state of an adapter between compiled and interpreted code, which moves arguments. False:
 * unknown.
 */
UNWIND_INLINE bool hotspot_judge_adapter(struct unwind_state *s, struct hotspot_walk *w);

/* Sets the state by a stub's rule. False: the rule is of another kind. */
UNWIND_INLINE bool hotspot_take_rule(struct unwind_state *s, struct hotspot_walk *w,
				     const struct unwind_rule *rule);

/*
 * Leaves the interpreter, or an adapter of method handles, where the frame pointer doesn't point to
 * a frame of its own.
 */
UNWIND_INLINE int hotspot_leave_entry(struct unwind_state *s, struct hotspot_walk *w);

/* Returns true if bp points to a complete frame, which the interrupted interpreter works on. */
UNWIND_INLINE bool hotspot_has_frame(const struct unwind_state *s, const struct hotspot_walk *w);

/* Returns the position in the bytecode that the interpreter works at. */
UNWIND_INLINE __u64 hotspot_position_register(const struct unwind_state *s);

/* ---- fields ---- */

#define hotspot_u64(w, field) (*(__u64 *)((w)->block + ((w)->layout.field & 511)))
#define hotspot_u32(w, field) (*(__u32 *)((w)->block + ((w)->layout.field & 511)))
#define hotspot_u16(w, field) (*(__u16 *)((w)->block + ((w)->layout.field & 511)))
#define hotspot_code(w, at)   ((w)->code[(at) & (HOTSPOT_CODE_BYTES - 1)])

#define hotspot_constant(w, type, field) (*(type *)((w)->constant + ((w)->layout.field & 127)))

#define HOTSPOT_FRAME_BELOW 80			   /* bytes of words[] below the frame pointer */
#define hotspot_frame(w, n) ((w)->words[10 - (n)]) /* the n-th word below the frame pointer */

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

/* Returns the bytes of an interpreted frame below bp, up to its expressions. */
UNWIND_INLINE __u64 hotspot_fixed_bytes(const struct hotspot_walk *w)
{
	return 8 * (w->layout.bcp_words + 1ULL);
}

/* Returns the address of the block that contains an address; 0: none. */
UNWIND_INLINE __u64 hotspot_find_block(struct unwind_state *s, const struct hotspot_layout *l,
				       __u64 addr)
{
	struct hotspot_heap heap = l->heaps[0]; /* copied: one path to verify, not three */
	__u64 segment;
	__u8 back = 0;

	if (hotspot_is_in(&l->heaps[1], addr))
		heap = l->heaps[1];
	if (hotspot_is_in(&l->heaps[2], addr))
		heap = l->heaps[2];
	if (!hotspot_is_in(&heap, addr))
		return 0;
	segment = (addr - heap.low) >> (l->log2_segment & 31);
	for (int i = 0; i < HOTSPOT_HOPS; i++) {
		if (!unwind_read(s, &back, 1, heap.segments + segment) || back == 0xff)
			return 0;
		if (!back)
			return heap.low + (segment << (l->log2_segment & 31));
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
	if (w->frame_bytes >= HOTSPOT_FRAME_MAX)
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

/* ---- frames ---- */

/* Returns four bytes of code, in BPF by one load, aligned or not. */
UNWIND_INLINE __u32 hotspot_four_bytes(const __u8 *code)
{
	__u32 bytes;

#ifdef __bpf__
	bytes = *(const __u32 *)code;
	barrier_var(bytes);
#else
	__builtin_memcpy(&bytes, code, sizeof(bytes));
#endif
	return bytes;
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

/* Returns the return address that x30 has in frame 0 (arm64). */
UNWIND_INLINE __u64 hotspot_link(const struct unwind_state *s)
{
	return unwind_code_address(unwind_link_of(&s->regs));
}

/* Moves to the caller by x30. */
UNWIND_INLINE int hotspot_leave_by_link(struct unwind_state *s, struct hotspot_walk *w, __u64 cfa)
{
	__u64 address = hotspot_link(s);

	if (!s->has_registers || !hotspot_follows_call(s, w, address) ||
	    (w->method && !hotspot_has(&w->layout, address)))
		return UNWIND_BAD_RULE;
	s->sp_may_stay = true;
	return hotspot_arrive(s, address, cfa, s->bp);
}

/*
 * Leaves a frame of known size. is_sure: a call has certainly been made from it. Only stubs are
 * called by native code, too.
 */
UNWIND_INLINE int hotspot_leave(struct unwind_state *s, struct hotspot_walk *w, bool is_sure)
{
	__u64 cfa = s->sp + w->to_cfa;
	struct unwind_frame_record saved;

	if (UNWIND_IS_ARM64 && w->is_linked)
		return hotspot_leave_by_link(s, w, cfa);
	if (!w->to_cfa)
		return UNWIND_BAD_RULE;
	if (!unwind_read(s, &saved, sizeof(saved), cfa - sizeof(saved)) ||
	    (w->bp_off && !unwind_read(s, &saved.bp, sizeof(saved.bp), cfa + w->bp_off)))
		return UNWIND_FAULT;
	unwind_note(s, cfa - sizeof(__u64), saved.return_address);
	saved.return_address = unwind_code_address(saved.return_address);
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

/*
 * Returns true if the return address of a frame of to_cfa bytes follows a call in HotSpot's code.
 */
UNWIND_INLINE bool hotspot_is_frame(struct unwind_state *s, struct hotspot_walk *w, __u32 to_cfa)
{
	__u64 *address = &w->words[0]; /* BPF's stack is small */

	return unwind_read(s, address, sizeof(*address), s->sp + to_cfa - 8) &&
	       hotspot_is_return(s, w, unwind_code_address(*address));
}

/* Returns the offset of a position in the method's bytecode; -1: it isn't in there. */
UNWIND_INLINE __s32 hotspot_bytecode(const struct hotspot_walk *w, __u64 position)
{
	__u64 offset = position - w->constant_at - w->layout.const_bytes;

	return offset < hotspot_constant(w, __u16, const_code_bytes) ? (__s32)offset : -1;
}

#endif
