/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Names the current task's native frames that run functions of V8: those that the native walk, in
 * the same slot, has left along their frame pointers. See abi/v8.h.
 */
#ifndef V8_BPF_H
#define V8_BPF_H

#include "runtimes/runtime_state.bpf.h"
#include "stack/stack_memory.bpf.h"
#include "stack/unwind_slots.bpf.h"
#include "abi/v8.h"

#define V8_KINDS RUNTIME_BIT(RUNTIME_V8)

struct v8_walk;

static __always_inline bool v8_read(const struct v8_walk *w, void *dst, __u32 size, __u64 addr)
{
	(void)w;
	return !bpf_probe_read_user(dst, size, (void *)addr);
}

#include "abi/v8_walk.h"

/*
 * The cost of a read hardly depends on its size, and frames are close to each other: a read covers
 * a frame's slots and the stack above them.
 */
#define V8_WINDOW_WORDS 64

struct v8_naming {
	struct v8_walk walk;
	__u64 window; /* stack address of slots[0] */
	__u32 n_slots;
	__u32 n_native;
	__u64 shared; /* address of the SharedFunctionInfo in the function; it may have moved */
	bool is_new;  /* the function in walk.shared has not been defined */
	__u32 next;   /* native frame that continues the segment */
	__u64 slots[V8_WINDOW_WORDS];
};

_Static_assert(sizeof(struct v8_naming) <= sizeof(struct runtime_walk), "larger than its space");

static __always_inline struct v8_naming *v8_naming_of(__u32 slot)
{
	return (struct v8_naming *)runtime_walk_of(slot, V8_KINDS);
}

/* ---- definitions ---- */

/* Moves to the characters of w->text. */
__noinline int v8_seek_text(__u32 slot)
{
	struct v8_naming *naming = v8_naming_of(slot);

	if (!naming)
		return 0;
	for (int i = 0; i < V8_TEXT_STEPS; i++)
		if (!v8_step_text(&naming->walk))
			break;
	v8_end_text(&naming->walk);
	return 0;
}

/* Begins the definition of the function in w->shared, and finds its name. */
__noinline int v8_define_name(__u32 slot)
{
	struct stack_scratch *scratch = stack_scratch_of(slot);
	struct v8_naming *naming = v8_naming_of(slot);

	if (!naming || !scratch)
		return 0;
	v8_begin_definition(&naming->walk, scratch->def.tgid);
	v8_begin_text(&naming->walk, v8_find_name(&naming->walk));
	return v8_seek_text(slot);
}

/* Copies the name, and finds the script's. */
__noinline int v8_define_file(__u32 slot)
{
	struct v8_naming *naming = v8_naming_of(slot);

	if (!naming)
		return 0;
	v8_end_name(&naming->walk);
	v8_begin_text(&naming->walk, v8_find_file(&naming->walk));
	return v8_seek_text(slot);
}

/* Copies the script's name, and sends the definition. */
__noinline int v8_define(__u32 slot)
{
	struct stack_scratch *scratch = stack_scratch_of(slot);
	struct v8_naming *naming = v8_naming_of(slot);
	struct v8_def *def;

	if (!naming || !scratch)
		return 0;
	v8_end_file(&naming->walk);
	def = &naming->walk.def;
	def->def.kind = STACK_FUNCTION;
	def->def.runtime = RUNTIME_V8;
	runtime_send(scratch, &def->def, sizeof(*def), sizeof(*def));
	return 0;
}

/* ---- recording: see stack_memory.bpf.h ---- */

/* Returns true if a map or script is not recorded yet in this walk, and marks it as recorded. */
static __always_inline bool v8_is_unrecorded(struct v8_recent *recent)
{
	bool is_unrecorded = !(recent->value & V8_NOTED);

	recent->value |= V8_NOTED;
	return is_unrecorded;
}

/* Records two words of an object, or a digest of its n words if there are too many pages. */
static __always_inline void v8_record_words(__u32 slot, const struct stack_scratch *scratch,
					    __u64 object, const __u64 *words, __u32 n, __u32 first,
					    __u32 second)
{
	__u64 at = object - 1;

	if (!stack_memory_has_window(slot, scratch, at)) {
		stack_memory_note_far(slot, at, n, stack_digest(words, n));
		return;
	}
	first &= ~7;
	second &= ~7;
	stack_memory_note_some(slot, at + first, v8_word(words, first), 0, STACK_PAGE_MIDDLE);
	stack_memory_note_some(slot, at + second, v8_word(words, second), 0, STACK_PAGE_MIDDLE);
}

/*
 * Records the map and SharedFunctionInfo of the function in w->words. While objects are moved, the
 * words at the recorded addresses differ, and the walk is not recalled.
 */
__noinline int v8_record_function(__u32 slot, __u64 function)
{
	struct stack_scratch *scratch = stack_scratch_of(slot);
	struct v8_naming *naming = v8_naming_of(slot);
	struct v8_walk *w;

	if (!naming || !scratch)
		return 0;
	w = &naming->walk;
	naming->shared = v8_word(w->words, w->layout.function_shared);
	v8_record_words(slot, scratch, function, w->words, V8_FUNCTION_BYTES / 8, 0,
			w->layout.function_shared);
	if (v8_is_unrecorded(v8_recent_map(w, w->words[0])))
		stack_memory_note_now(slot, scratch, w->words[0] - 1 + (V8_MAP_TYPE & ~7), 1);
	return 0;
}

/* Records the words of w->shared that v8_fingerprint() has read, and the script. */
__noinline int v8_record_shared(__u32 slot)
{
	struct stack_scratch *scratch = stack_scratch_of(slot);
	struct v8_naming *naming = v8_naming_of(slot);
	struct v8_walk *w;
	__u64 script;

	if (!naming || !scratch)
		return 0;
	w = &naming->walk;
	if (w->script_id != V8_NO_SCRIPT)
		v8_record_words(slot, scratch, naming->shared, w->shared, V8_SHARED_BYTES / 8,
				w->layout.shared_script, w->layout.shared_literal);
	else
		stack_memory_note_far(slot, naming->shared - 1, V8_SHARED_BYTES / 8,
				      stack_digest(w->shared, V8_SHARED_BYTES / 8));
	script = v8_word(w->shared, w->layout.shared_script);
	if (!v8_is_unrecorded(v8_recent_script(w, script)))
		return 0;
	if (w->script_id != V8_NO_SCRIPT) /* just read */
		stack_memory_note_far(slot, script - 1, V8_SCRIPT_BYTES / 8,
				      stack_digest(w->words, V8_SCRIPT_BYTES / 8));
	else if (v8_is_object(script))
		stack_memory_note_now(slot, scratch, script - 1, V8_DEBUG_INFO_SCRIPT / 8 + 1);
	return 0;
}

/* ---- identity ---- */

static __always_inline struct v8_recent *v8_recent_of(struct v8_walk *w, __u64 function)
{
	return &w->functions[(function >> 4 ^ function >> 8) & (V8_RECENT - 1)];
}

/* Separate from v8_identify(): one function would need more stack. */
__noinline int v8_take_shared(__u32 slot, __u64 function)
{
	struct v8_naming *naming = v8_naming_of(slot);

	return naming && v8_read_shared(&naming->walk, function);
}

__noinline __u64 v8_identify(__u32 slot, __u64 function)
{
	struct v8_naming *naming = v8_naming_of(slot);
	struct v8_recent *recent;
	__u64 fingerprint;

	if (!naming)
		return 0;
	fingerprint = v8_fingerprint(&naming->walk);
	naming->is_new = !runtime_was_sent(fingerprint);
	recent = v8_recent_of(&naming->walk, function);
	recent->walk = naming->walk.number;
	recent->key = function;
	recent->value = fingerprint;
	return fingerprint;
}

/* Returns the fingerprint of a function; cached if possible; 0: not a function. */
static __always_inline __u64 v8_recall(__u32 slot, struct stack_scratch *scratch, struct v8_walk *w,
				       __u64 function)
{
	struct v8_recent *recent = v8_recent_of(w, function);
	__u64 fingerprint;

	if (recent->walk == w->number && recent->key == function)
		return recent->value;
	if (!v8_take_shared(slot, function)) {
		scratch->walk.recorder = 0;
		return 0;
	}
	if (stack_memory_records(scratch))
		v8_record_function(slot, function);
	fingerprint = v8_identify(slot, function);
	if (stack_memory_records(scratch))
		v8_record_shared(slot);
	return fingerprint;
}

/* ---- frames ---- */

/* Reads the frame's slots from a stack address on into the window, unless present. */
static __always_inline bool v8_fetch(struct v8_naming *naming, __u64 at)
{
	if (at >= naming->window && at + V8_SLOTS * 8 <= naming->window + naming->n_slots * 8)
		return true;
	naming->window = at;
	naming->n_slots = V8_WINDOW_WORDS;
	if (!bpf_probe_read_user(naming->slots, sizeof(naming->slots), (void *)at))
		return true;
	naming->n_slots = V8_SLOTS;
	return !bpf_probe_read_user(naming->slots, V8_SLOTS * 8, (void *)at);
}

#define v8_slot(naming, at, i) \
	((naming)->slots[(((at) - (naming)->window) / 8 + (i)) & (V8_WINDOW_WORDS - 1)])

/*
 * Adds the function of native frame i to the segment, or to a new one. index: offset of the
 * bytecode, if lines are requested, or the return address of a leaf without a frame; 0: none.
 */
static __always_inline void v8_push(struct stack_scratch *scratch, struct v8_naming *naming,
				    __u32 i, __u64 fingerprint, __u64 index)
{
	bool begins = naming->next != i;

	if (scratch->def.n_words + begins + 1 + (index != 0) > STACK_WORDS) {
		scratch->is_cut = true;
		return;
	}
	if (begins)
		runtime_push(scratch, runtime_segment_word(i) | RUNTIME_REPLACES);
	runtime_push(scratch, v8_function_word(fingerprint));
	if (index)
		runtime_push(scratch, index);
	scratch->fingerprints = runtime_mix(scratch->fingerprints, fingerprint);
	naming->next = i + 1;
}

/* Records the slots that determine the frame's words. */
__noinline int v8_record_slots(__u32 slot, __u64 at)
{
	struct stack_scratch *scratch = stack_scratch_of(slot);
	struct v8_naming *naming = v8_naming_of(slot);
	__u64 function, context, offset;

	if (!naming || !scratch)
		return 0;
	function = v8_slot(naming, at, 0);
	context = v8_slot(naming, at, 1);
	offset = v8_slot(naming, at, -V8_BELOW);
	if (v8_is_object(context) && runtime_settings.lines)
		stack_memory_note_some(slot, at - V8_BELOW * 8, offset,
				       v8_is_object(offset) ? STACK_LOW_BITS : 0, STACK_PAGE_BELOW);
	if (v8_is_object(context))
		stack_memory_note_some(slot, at, function, 0, STACK_PAGE_BELOW);
	stack_memory_note_some(slot, at + 8, context, STACK_LOW_BITS, STACK_PAGE_BELOW);
	if (v8_is_object(context) && naming->next == STACK_DEPTH)
		stack_memory_note_thread(scratch, at, function);
	return 0;
}

/*
 * Names native frame i, whose caller's stack begins above the frame's two saved words. Returns true
 * if the function in w->shared is to be defined.
 */
__noinline int v8_name_frame(__u32 slot, __u32 i)
{
	struct stack_scratch *scratch = stack_scratch_of(slot);
	struct v8_naming *naming = v8_naming_of(slot);
	__u64 n = i, at, fingerprint, index = 0;

	barrier_var(n); /* preserves the masks */
	if (!naming || !scratch || n + 1 >= STACK_DEPTH ||
	    !(scratch->framed[n / STACK_CHUNK % STACK_CHUNKS] >> n % STACK_CHUNK & 1))
		return 0;
	naming->is_new = false;
	at = scratch->sps[(n + 1) & (STACK_DEPTH - 1)] - V8_FRAME_BYTES;
	if (at < scratch->sps[n & (STACK_DEPTH - 1)] || at & 7)
		return 0;
	if (!v8_fetch(naming, at - V8_BELOW * 8)) {
		scratch->walk.recorder = 0;
		return 0;
	}
	if (stack_memory_records(scratch))
		v8_record_slots(slot, at);
	if (!v8_is_object(v8_slot(naming, at, 1)))
		return 0;
	fingerprint = v8_recall(slot, scratch, &naming->walk, v8_slot(naming, at, 0));
	if (!fingerprint)
		return 0;
	if (!i)
		index = v8_return_of_leaf(&naming->walk, scratch->sps[0],
					  unwind_link_of(&scratch->walk.regs));
	if (!index && runtime_settings.lines)
		index = v8_offset(v8_slot(naming, at, -V8_BELOW));
	v8_push(scratch, naming, i, fingerprint, index);
	return naming->is_new;
}

/*
 * Names the frames of a chunk. Returns 0 after the last one. Not unrolled: the kernel's check of
 * the total stack depth follows each call instruction.
 */
__noinline int v8_name_some(__u32 slot, __u32 chunk)
{
	struct stack_scratch *scratch = stack_scratch_of(slot);
	struct v8_naming *naming = v8_naming_of(slot);
	__u64 n = chunk;
	__u32 bits;

	barrier_var(n); /* preserves the mask */
	if (!naming || !scratch || n * STACK_CHUNK >= naming->n_native)
		return 0;
	bits = scratch->framed[n % STACK_CHUNKS];
#pragma nounroll
	for (__u32 i = 0; i < STACK_CHUNK && bits >> i; i++) {
		if (!v8_name_frame(slot, n * STACK_CHUNK + i))
			continue;
		v8_define_name(slot);
		v8_define_file(slot);
		v8_define(slot);
	}
	return 1;
}

/* Begins the walk; drops cached data of another process. */
static __always_inline void v8_begin(struct v8_walk *w, const struct runtime_process *process)
{
	if (w->process != process->serial) {
		w->layout = process->v8;
		w->process = process->serial;
		w->shared_map = w->script_map = 0;
		w->number = bpf_ktime_get_ns();
	}
	w->number++;
	w->owner = runtime_mix(process->serial, runtime_thread());
}

/* Names the frames that run functions of V8. */
static __always_inline void v8_walk_frames(__u32 slot, struct stack_scratch *scratch,
					   const struct runtime_process *process)
{
	struct v8_naming *naming = v8_naming_of(slot);

	if (!naming)
		return;
	v8_begin(&naming->walk, process);
	naming->n_native = scratch->def.n_words;
	naming->window = naming->n_slots = 0;
	naming->next = STACK_DEPTH;
#pragma nounroll
	for (__u32 i = 0; i < STACK_CHUNKS; i++)
		if (!v8_name_some(slot, i))
			return;
}

#endif
