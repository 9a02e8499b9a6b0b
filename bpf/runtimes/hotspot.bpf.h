/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Walks frames of HotSpot's code as the native walk arrives there: abi/hotspot_walk.h has the
 * rules, and abi/hotspot.h the layout. Global functions pass the slot's number, see unwind.bpf.h.
 *
 * The traced program's memory may hold anything. Each step has a fixed number of reads, and the
 * walk's number of steps is limited by the native one.
 */
#ifndef HOTSPOT_BPF_H
#define HOTSPOT_BPF_H

#include "runtimes/runtime_state.bpf.h"
#include "stack/unwind_tables.bpf.h"
#include "abi/hotspot_walk.h"

#define HOTSPOT_KINDS RUNTIME_BIT(RUNTIME_HOTSPOT)

_Static_assert(sizeof(struct hotspot_walk) <= sizeof(struct runtime_walk), "larger than its space");

static __always_inline struct hotspot_walk *hotspot_walk_of(__u32 slot)
{
	return (struct hotspot_walk *)runtime_walk_of(slot, HOTSPOT_KINDS);
}

/* ---- definitions ---- */

/* Reads a name's length and last letters, and adds them to the digest. */
static __always_inline bool hotspot_read_text(struct hotspot_walk *w, __u64 symbol, __u16 *length)
{
	const struct hotspot_layout *l = &w->layout;
	__u32 n;

	if (bpf_probe_read_user(length, sizeof(*length), (void *)(symbol + l->symbol_length)))
		return false;
	for (int i = 0; i < HOTSPOT_TEXT_BYTES / 8; i++)
		w->text[i] = 0;
	n = *length < HOTSPOT_TEXT_BYTES ? *length : HOTSPOT_TEXT_BYTES;
	barrier_var(n);
	if (bpf_probe_read_user(w->text, n & (2 * HOTSPOT_TEXT_BYTES - 1),
				(void *)(symbol + l->symbol_body + *length - n)))
		return false;
	w->names = runtime_mix(w->names, *length);
	for (int i = 0; i < HOTSPOT_TEXT_BYTES / 8; i++)
		w->names = runtime_mix(w->names, w->text[i]);
	return *length;
}

/* Reads the lengths and last letters of a method's names. Returns 1, or 0 if there are none. */
__noinline int hotspot_read_names(__u32 slot)
{
	struct stack_scratch *scratch = stack_scratch_of(slot);
	struct hotspot_walk *w = hotspot_walk_of(slot);

	if (!w || !scratch || (w->blob && !hotspot_read_method(&scratch->walk, w)))
		return 0;
	w->names = 0;
	return hotspot_read_text(w, w->class_symbol, &w->def.class_bytes) &&
	       hotspot_read_text(w, w->method_symbol, &w->def.method_bytes);
}

/* Copies the method's own name. */
static __always_inline bool hotspot_copy_name(struct hotspot_walk *w)
{
	__u32 n = w->def.method_bytes;

	n = n < HOTSPOT_METHOD_BYTES ? n : HOTSPOT_METHOD_BYTES - 1;
	barrier_var(n);
	return !bpf_probe_read_user(w->def.method_name, n & (HOTSPOT_METHOD_BYTES - 1),
				    (void *)(w->method_symbol + w->layout.symbol_body));
}

static __always_inline bool hotspot_copy_class(struct hotspot_walk *w)
{
	__u32 n = w->def.class_bytes;

	n = n < HOTSPOT_CLASS_BYTES ? n : HOTSPOT_CLASS_BYTES - 1;
	barrier_var(n);
	return !bpf_probe_read_user(w->def.class_name, n & (HOTSPOT_CLASS_BYTES - 1),
				    (void *)(w->class_symbol + w->layout.symbol_body));
}

static __always_inline __u64 hotspot_word(const struct hotspot_walk *w)
{
	return runtime_word(w->blob ? w->blob : w->method, w->fingerprint);
}

/* Copies the name of a stub's blob in place of a method's. */
static __always_inline bool hotspot_copy_stub(struct hotspot_walk *w)
{
	long n = bpf_probe_read_user_str(w->def.method_name, HOTSPOT_METHOD_BYTES,
					 (void *)hotspot_u64(w, name));

	w->def.class_bytes = 0;
	w->def.method_bytes = n - 1;
	return n > 1;
}

/* Sends a definition. Returns 1 if there is a name. */
__noinline int hotspot_define(__u32 slot)
{
	struct stack_scratch *scratch = stack_scratch_of(slot);
	struct hotspot_walk *w = hotspot_walk_of(slot);

	if (!w || !scratch)
		return 0;
	if (w->method ? !hotspot_copy_class(w) || !hotspot_copy_name(w) : !hotspot_copy_stub(w))
		return 0;
	w->def.def.word = hotspot_word(w);
	w->def.def.fingerprint = w->fingerprint;
	w->def.def.kind = STACK_FUNCTION;
	w->def.def.tgid = scratch->def.tgid;
	w->def.def.runtime = RUNTIME_HOTSPOT;
	w->def.blob = w->blob;
	w->def.method = w->method;
	w->def.compile_id = w->compile_id;
	runtime_send(scratch, &w->def.def, sizeof(w->def), sizeof(w->def));
	return 1;
}

/* ---- recording: see stack_memory.bpf.h ---- */

/* Records what identifies a block: a method's number, which is unique, or a stub's name. */
__noinline int hotspot_record_blob(__u32 slot)
{
	struct hotspot_walk *w = hotspot_walk_of(slot);
	__u32 at;

	if (!w)
		return 0;
	at = w->method ? w->layout.compile_id : w->layout.name;
	at &= 512 - sizeof(__u64);
	stack_memory_note_word(slot, w->blob - w->layout.header_bytes + at,
			       *(__u64 *)(w->block + at));
	return 0;
}

/* Records the letters that hotspot_read_text() has read: whole words, and the last one. */
__noinline int hotspot_record_text(__u32 slot, __u64 symbol, __u32 length)
{
	__u32 n = length < HOTSPOT_TEXT_BYTES ? length : HOTSPOT_TEXT_BYTES, n_words = n / 8;
	struct stack_scratch *scratch = stack_scratch_of(slot);
	struct hotspot_walk *w = hotspot_walk_of(slot);

	barrier_var(n_words);
	if (!w || !scratch || n_words > HOTSPOT_TEXT_BYTES / 8)
		return 0;
	symbol += w->layout.symbol_body + length - n;
	if (n_words)
		stack_memory_note_now(slot, scratch, symbol, n_words);
	stack_memory_note_now(slot, scratch, n_words ? symbol + n - 8 : symbol, 1);
	return 0;
}

/* Records what identifies an interpreted frame's method: the words of hotspot_identify(). */
__noinline int hotspot_record_interpreted(__u32 slot)
{
	struct stack_scratch *scratch = stack_scratch_of(slot);
	struct hotspot_walk *w = hotspot_walk_of(slot);
	__u64 bp, at;
	__u32 name;

	if (!w || !scratch)
		return 0;
	bp = scratch->walk.bp;
	unwind_note(&scratch->walk, bp - 24, hotspot_frame(w, 3));
	if (runtime_settings.lines)
		unwind_note(&scratch->walk, bp - 8ULL * w->layout.bcp_words,
			    hotspot_saved_position(w));
	stack_memory_note_word(slot, w->method + w->layout.method_const, w->constant_at);
	name = w->layout.const_name & (128 - sizeof(__u64));
	stack_memory_note_word(slot, w->constant_at + name, *(__u64 *)(w->constant + name));
	stack_memory_note_word(slot, w->constant_at + w->layout.const_pool, w->pool);
	stack_memory_note_word(slot, w->pool + w->layout.pool_holder, w->holder);
	stack_memory_note_word(slot, w->holder + w->layout.class_name, w->class_symbol);
	stack_memory_note_word(slot, hotspot_name_at(w), w->method_symbol);
	at = w->class_symbol + w->layout.symbol_length;
	stack_memory_note_now(slot, scratch, at, 1);
	at = w->method_symbol + w->layout.symbol_length;
	stack_memory_note_now(slot, scratch, at, 1);
	return 0;
}

/* ---- parts of a step ---- */

static __always_inline void hotspot_note_pc(struct unwind_state *s, struct hotspot_walk *w,
					    __u64 pc)
{
	struct stack_scratch *scratch = stack_scratch_of(w->slot);

	if (scratch)
		scratch->def.words[(scratch->def.n_words - 1) & (STACK_DEPTH - 1)] = pc;
}

__noinline int hotspot_loop_of(__u32 slot, __u32 loop, __u32 at)
{
	struct stack_scratch *scratch = stack_scratch_of(slot);
	struct hotspot_walk *w = hotspot_walk_of(slot);

	return w && scratch ? hotspot_loop(&scratch->walk, w, loop, at) : 0;
}

static __always_inline __u32 hotspot_run_loop(struct unwind_state *s, struct hotspot_walk *w,
					      __u32 loop, __u32 at)
{
	return hotspot_loop_of(w->slot, loop, at);
}

static __always_inline const struct unwind_rule *hotspot_find_rule(struct unwind_state *s,
								   struct hotspot_walk *w, __u64 ip)
{
	__u64 at = ip - w->rules.start, index = at >> UNWIND_PAGE_SHIFT;
	__u32 rule;

	if (index >= w->rules.n_pages)
		return NULL;
	rule = unwind_search_page(w->rules.first_page + index, at & 0xffff);
	return bpf_map_lookup_elem(&unwind_rules, &rule);
}

/* ---- a step ---- */

/* Reads the block that contains ip. Returns 1, or 0 if there is none in use. */
__noinline int hotspot_read_block(__u32 slot)
{
	struct stack_scratch *scratch = stack_scratch_of(slot);
	struct hotspot_walk *w = hotspot_walk_of(slot);
	__u64 block;
	__u32 n;

	if (!w || !scratch)
		return 0;
	block = hotspot_find_block(&scratch->walk, &w->layout,
				   hotspot_blob_address(&w->layout, scratch->walk.ip));
	n = w->layout.blob_bytes;
	n = n < HOTSPOT_BLOB_BYTES ? n : HOTSPOT_BLOB_BYTES;
	barrier_var(n);
	if (!block || bpf_probe_read_user(w->block, n & 511, (void *)block) ||
	    !hotspot_take_blob(w, block))
		return 0;
	if (!hotspot_is_method(&scratch->walk, w))
		w->method = w->compile_id = 0;
	return 1;
}

/* Finds an interpreted frame. Returns 1, or 0 if there is none. */
__noinline int hotspot_find_frame(__u32 slot)
{
	struct stack_scratch *scratch = stack_scratch_of(slot);
	struct hotspot_walk *w = hotspot_walk_of(slot);

	return w && scratch ? hotspot_find_interpreted(&scratch->walk, w) : 0;
}

/* Notes the method, or the stub, that the current frame runs; nothing if it has no name. */
__noinline int hotspot_note_frame(__u32 slot)
{
	struct stack_scratch *scratch = stack_scratch_of(slot);
	struct hotspot_walk *w = hotspot_walk_of(slot);
	__u32 n;

	if (!w || !scratch)
		return 0;
	n = scratch->def.n_words;
	w->is_called = w->last_frame && w->last_frame + 1 == n;
	if (w->method)
		w->last_frame = n;
	if (w->method && !w->blob && !hotspot_read_names(slot)) {
		unwind_depend(&scratch->walk);
		return 0;
	}
	hotspot_identify(w);
	if (!runtime_was_sent(w->fingerprint) &&
	    ((w->method && w->blob && !hotspot_read_names(slot)) || !hotspot_define(slot)))
		return 0;
	runtime_note_function(scratch, n - 1, hotspot_word(w), w->blob ? -1 : w->position);
	scratch->fingerprints = runtime_mix(scratch->fingerprints, w->fingerprint);
	return 0;
}

__noinline int hotspot_step_method(__u32 slot)
{
	struct stack_scratch *scratch = stack_scratch_of(slot);
	struct hotspot_walk *w = hotspot_walk_of(slot);

	return w && scratch ? hotspot_leave_method(&scratch->walk, w) : UNWIND_NO_RULE;
}

__noinline int hotspot_step_stub(__u32 slot)
{
	struct stack_scratch *scratch = stack_scratch_of(slot);
	struct hotspot_walk *w = hotspot_walk_of(slot);

	return w && scratch ? hotspot_leave_stub(&scratch->walk, w) : UNWIND_NO_RULE;
}

static __always_inline bool hotspot_begin(__u32 slot, struct stack_scratch *scratch,
					  struct hotspot_walk *w)
{
	struct runtime_process *process;

	if (scratch->walk.runtime)
		return scratch->walk.runtime == RUNTIME_HOTSPOT;
	process = bpf_map_lookup_elem(&runtime_processes, &scratch->def.tgid);
	if (!process || process->kind != RUNTIME_HOTSPOT)
		return false;
	w->layout = process->hotspot;
	w->serial = process->serial;
	w->rules = process->rules;
	w->slot = slot;
	w->last_frame = 0;
	scratch->walk.runtime = RUNTIME_HOTSPOT;
	return true;
}

/* Moves from a frame of HotSpot's code to its caller. UNWIND_NO_RULE: other code. */
__noinline int hotspot_step(__u32 slot)
{
	struct stack_scratch *scratch = stack_scratch_of(slot);
	struct hotspot_walk *w = hotspot_walk_of(slot);
	__u64 ip;

	if (!w || !scratch || !hotspot_begin(slot, scratch, w))
		return UNWIND_NO_RULE;
	ip = scratch->walk.ip;
	if (!hotspot_has(&w->layout, ip))
		return UNWIND_NO_RULE;
	if (scratch->walk.ip_is_exact) /* depends on code and registers */
		unwind_depend(&scratch->walk);
	if (hotspot_is_interpreter(&w->layout, ip) && hotspot_find_frame(slot)) {
		hotspot_note_frame(slot);
		if (stack_memory_records(scratch)) {
			hotspot_record_interpreted(slot);
			hotspot_record_text(slot, w->class_symbol, w->def.class_bytes);
			hotspot_record_text(slot, w->method_symbol, w->def.method_bytes);
		}
		return hotspot_leave_interpreted(&scratch->walk, w);
	}
	if (!hotspot_read_block(slot))
		return UNWIND_BAD_RULE;
	if (stack_memory_records(scratch))
		hotspot_record_blob(slot);
	hotspot_note_frame(slot);
	return w->method ? hotspot_step_method(slot) : hotspot_step_stub(slot);
}

#endif
