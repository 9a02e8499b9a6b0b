/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Leaves one frame of HotSpot's code: the same code in the kernel (hotspot.bpf.h) and in the loader
 * (hotspot/leave.c). The includer must define what unwind_walk.h requires, and the functions that
 * are declared here and in hotspot_step.h.
 *
 * At an interrupted instruction, a frame may not exist yet, or no longer, as the instruction's
 * bytes show; a return address found there has to follow a call.
 */
#ifndef ABI_HOTSPOT_WALK_H
#define ABI_HOTSPOT_WALK_H

#include "abi/unwind_regs.h"

#include HOTSPOT_ARCH

/* Returns the rule for an instruction of a stub; NULL: none. */
UNWIND_INLINE const struct unwind_rule *hotspot_find_rule(struct unwind_state *s,
							  struct hotspot_walk *w, __u64 ip);

/* ---- compiled methods ---- */

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

/* Leaves a compiled method. */
UNWIND_INLINE int hotspot_leave_method(struct unwind_state *s, struct hotspot_walk *w)
{
	__u64 pc = hotspot_original_pc(s, w);

	w->to_cfa = w->frame_bytes;
	w->has_saved_bp = true;
	w->is_linked = false;
	w->bp_off = 0;
	if (pc)
		hotspot_note_pc(s, w, pc);
	else if (s->ip_is_exact)
		hotspot_judge_interrupted(s, w);
	else if (!w->is_called)
		hotspot_judge_caller(s, w);
	return hotspot_leave(s, w, w->is_called);
}

/* ---- identity ---- */

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

/* Leaves the call stub's frame by the frame pointer. */
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

/* Returns the first eight letters of a stub's name. */
UNWIND_INLINE __u64 hotspot_stub_name(struct unwind_state *s, const struct hotspot_walk *w)
{
	__u64 name = 0;

	return unwind_read(s, &name, sizeof(name), hotspot_u64(w, name)) ? name : 0;
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
	if (name == 0x6320656c62617476ULL) /* "vtable c[hunks]" */
		hotspot_judge_bare(w);
	else if (name != 0x204932432f433249ULL || !hotspot_judge_adapter(s, w)) /* "I2C/C2I " */
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
	if (!unwind_read(s, &at, sizeof(at), unwind_thread_base(s) + HOTSPOT_DTV_AT) ||
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
	w->is_linked = false;
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

UNWIND_INLINE bool hotspot_read_frame(struct unwind_state *s, struct hotspot_walk *w)
{
	return s->bp >= s->sp && s->bp - s->sp < HOTSPOT_FRAME_MAX && !(s->bp & 7) &&
	       unwind_read(s, w->words, sizeof(w->words), s->bp - HOTSPOT_FRAME_BELOW);
}

UNWIND_INLINE __u64 hotspot_saved_position(const struct hotspot_walk *w)
{
	if (w->layout.bcp_words == 7)
		return hotspot_frame(w, 7);
	return w->layout.bcp_words == 8 ? hotspot_frame(w, 8) : hotspot_frame(w, 9);
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
	else if (hotspot_bytecode(w, hotspot_position_register(s)) >= 0)
		w->position = hotspot_bytecode(w, hotspot_position_register(s));
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
