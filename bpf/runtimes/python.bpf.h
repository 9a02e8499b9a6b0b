/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Walks the Python frames of the current task and appends their words to its native stack, which is
 * in the same slot. See abi/python.h for how frames are found, and unwind.bpf.h for why functions
 * are global and pass the slot's number.
 *
 * The traced program's memory may hold anything: the walk has a maximum number of steps, and a
 * frame is valid only if it has a code object. Unreadable or unexpected contents drop their segment
 * and all outer segments.
 */
#ifndef PYTHON_BPF_H
#define PYTHON_BPF_H

#include "runtimes/python_state.bpf.h"
#include "stack/stack_memory.bpf.h"
#include "stack/unwind_slots.bpf.h"
#include "abi/search.h"

enum python_turn {
	PYTHON_GOES_ON,
	PYTHON_ENDS,
	PYTHON_LOOKS_ON, /* searching another state */
};

#define PYTHON_NO_CODE	   0 /* in place of a fingerprint: not a code object */
#define PYTHON_NO_FRAME	   1 /* a code object that is not shown */
#define PYTHON_LAST_TAG	   7 /* 3.14: tag in the low bits of f_executable */
#define PYTHON_PAGE	   4096
#define PYTHON_CHUNK	   16 /* at most 16^3 frames are visited: the list may be cyclic */
#define PYTHON_NO_PLACE	   STACK_DEPTH
#define PYTHON_PLACE_STEPS 10 /* 2^10 is above STACK_DEPTH */
#define PYTHON_LOOKS	   64 /* maximum number of interpreters and thread states visited */

#define python_u64(bytes, at) (*(__u64 *)((bytes) + ((at)&0x78)))
#define python_code(w, field) (*(__u64 *)((w)->code + ((w)->layout.code_##field & 0xf8)))
#define python_u8(bytes, at)  (*(volatile __u8 *)((bytes) + ((at)&0x7f)))
#define python_keep(var)      asm volatile("" : "+r"(var)) /* preserves a bound */

/* ---- identity of a code object ---- */

/*
 * Returns a code object's fingerprint, which differs from that of any other, even a later one at
 * the same address: a hash of process, address, file and version, a serial number since 3.12;
 * before, of the first line, the line table's address and the name's stored hash instead of the
 * version. Reads only these fields.
 */
__noinline __u64 python_fingerprint(__u32 slot, __u64 code_at)
{
	struct python_walk *w = python_walk_of(slot);
	__u64 hash = 0, fingerprint;
	__u8 *code;

	if (!w)
		return PYTHON_NO_CODE;
	code = w->code;
	fingerprint = runtime_mix(w->serial, code_at);
	if (w->layout.has_versions) {
		if (bpf_probe_read_user(code + PYTHON_CODE_VERSION,
					PYTHON_CODE_QUALNAME - PYTHON_CODE_VERSION,
					(void *)(code_at + PYTHON_CODE_VERSION)))
			return PYTHON_NO_CODE;
		fingerprint = runtime_mix(fingerprint, *(__u32 *)(code + PYTHON_CODE_VERSION));
	} else {
		if (bpf_probe_read_user(code + PYTHON_CODE_LINE,
					PYTHON_CODE_BYTES - PYTHON_CODE_LINE,
					(void *)(code_at + PYTHON_CODE_LINE)))
			return PYTHON_NO_CODE;
		python_read(hash, python_code(w, name) + PYTHON_STR_HASH);
		fingerprint = runtime_mix(fingerprint, hash + python_code(w, first_line));
		fingerprint = runtime_mix(fingerprint, python_code(w, lines));
	}
	return runtime_mix(fingerprint, python_code(w, file)) * 0xbf58476d1ce4e5b9ULL |
	       2; /* differs from PYTHON_NO_CODE and PYTHON_NO_FRAME */
}

/* ---- definitions ---- */

struct python_str {
	__u64 length, hash;
	__u32 state;
};

/* Returns the address of a str object's text; 0: it can't be read. */
static __always_inline __u64 python_find_text(const struct python_walk *w, __u64 at,
					      struct python_text *text)
{
	struct python_str str = {};

	if (!at || bpf_probe_read_user(&str, 20, (void *)(at + PYTHON_STR_LENGTH)))
		return 0;
	text->state = str.state;
	text->length = str.length < 0xffff ? str.length : 0xffff;
	return at + (str.state & PYTHON_STR_ASCII ? w->layout.str_ascii : w->layout.str_compact);
}

static __always_inline __u32 python_text_bytes(const struct python_text *text)
{
	return text->length * PYTHON_STR_KIND(text->state);
}

static __always_inline bool python_read_name(struct python_walk *w)
{
	struct python_def *def = &w->def;
	__u64 at = python_find_text(w, python_code(w, name), &def->name_text);
	__u32 n = python_text_bytes(&def->name_text);

	if (!at)
		return false;
	n = n < PYTHON_NAME_BYTES ? n : PYTHON_NAME_BYTES - 1;
	python_keep(n);
	return !bpf_probe_read_user(def->name, n & (PYTHON_NAME_BYTES - 1), (void *)at);
}

/* Reads the file's path; of a long path the end, which is more specific. */
static __always_inline bool python_read_file(struct python_walk *w)
{
	struct python_def *def = &w->def;
	__u64 at = python_find_text(w, python_code(w, file), &def->file_text);
	__u32 n = python_text_bytes(&def->file_text), left_out = 0;

	if (!at)
		return false;
	if (n > PYTHON_FILE_END_BYTES) {
		left_out = n - PYTHON_FILE_END_BYTES;
		n = PYTHON_FILE_END_BYTES;
	}
	python_keep(n);
	return !bpf_probe_read_user(def->file, n & (PYTHON_FILE_BYTES - 1),
				    (void *)(at + left_out));
}

static __always_inline __u32 python_read_lines(struct python_walk *w)
{
	__u64 table = python_code(w, lines), n = 0;
	struct python_def *def = &w->def;

	def->lines_kind = PYTHON_LINES_LOCATIONS;
	if (!runtime_settings.lines || !python_read(n, table + PYTHON_BYTES_LENGTH) ||
	    n >= PYTHON_LINES_BYTES)
		return 0;
	if (bpf_probe_read_user(def->lines, n & (PYTHON_LINES_BYTES - 1),
				(void *)(table + PYTHON_BYTES_TEXT)))
		return 0;
	def->lines_kind = w->layout.lines_kind; /* in 3.9 an empty table has a meaning, too */
	return n;
}

/*
 * Returns true for the code object that 3.13 and later insert as the caller of an __init__() that
 * runs in the same call of the interpreter.
 */
static __always_inline bool python_is_shim(const __u8 *code, __u32 first_line)
{
	return *(__u64 *)(code + PYTHON_CODE_FILENAME) == *(__u64 *)(code + PYTHON_CODE_NAME) &&
	       !first_line;
}

/* Sends a code object's definition. Returns fingerprint, PYTHON_NO_CODE or PYTHON_NO_FRAME. */
__noinline __u64 python_define(__u32 slot, __u64 code_at, __u64 fingerprint)
{
	struct stack_scratch *scratch = stack_scratch_of(slot);
	struct python_walk *w = python_walk_of(slot);
	struct python_def *def;

	if (!w || !scratch || bpf_probe_read_user(w->code, PYTHON_CODE_BYTES, (void *)code_at) ||
	    *(__u64 *)(w->code + PYTHON_TYPE) != w->layout.code_type)
		return PYTHON_NO_CODE;
	def = &w->def;
	def->first_line = *(__u32 *)(w->code + (w->layout.code_first_line & 0x7c));
	if (python_is_shim(w->code, def->first_line))
		return PYTHON_NO_FRAME;
	def->def.word = runtime_word(code_at, fingerprint);
	def->def.fingerprint = fingerprint;
	def->def.kind = STACK_FUNCTION;
	def->def.tgid = scratch->def.tgid;
	def->def.runtime = RUNTIME_PYTHON;
	if (!python_read_name(w))
		return PYTHON_NO_CODE;
	def->has_file = python_read_file(w);
	def->n_lines = python_read_lines(w);
	runtime_send(scratch, &def->def, offsetof(struct python_def, lines) + def->n_lines,
		     sizeof(*def));
	w->has_new = true;
	return fingerprint;
}

/* ---- words ---- */

/* Adds a frame to the segment; the first one begins it. Does nothing if it doesn't fit. */
static __always_inline void python_push_frame(struct stack_scratch *scratch, struct python_walk *w,
					      __u64 word, __u32 instruction)
{
	w->is_full = scratch->def.n_words + !w->segment + 1 + runtime_settings.lines > STACK_WORDS;
	if (w->is_full)
		return;
	if (!w->segment) {
		w->segment = scratch->def.n_words;
		runtime_push(scratch, runtime_segment_word(0));
	}
	runtime_push(scratch, word);
	if (runtime_settings.lines)
		runtime_push(scratch, instruction);
}

/*
 * Returns the index of the native frame that holds a stack address: a frame extends from its stack
 * pointer to the next frame's. n_native: the address is above the last known frame.
 */
__noinline __u32 python_find_place(__u32 slot, __u64 addr)
{
	struct stack_scratch *scratch = stack_scratch_of(slot);
	struct python_walk *w = python_walk_of(slot);
	struct search search = {};
	__u64 sp;

	if (!w || !scratch)
		return PYTHON_NO_PLACE;
	search.rest = w->n_native;
	for (int i = 0; i < PYTHON_PLACE_STEPS && search.rest; i++) {
		sp = scratch->sps[search_at(&search) & (STACK_DEPTH - 1)];
		search_turn(&search, addr - sp);
	}
	if (!search.below)
		return PYTHON_NO_PLACE;
	return search.below < w->n_native ? search.below - 1 : w->n_native;
}

static __always_inline void python_drop_segment(struct stack_scratch *scratch,
						struct python_walk *w)
{
	if (w->segment)
		scratch->def.n_words = w->segment;
	w->segment = 0;
}

/*
 * Ends a segment with the native frame that holds the marker. Drops it without frames, or if no
 * native frame holds the marker, or if it follows the last native frame in a second state: such
 * segments have no order.
 */
__noinline int python_end_segment(__u32 slot, __u64 mark)
{
	struct stack_scratch *scratch = stack_scratch_of(slot);
	struct python_walk *w = python_walk_of(slot);
	__u32 place;

	if (!w || !scratch)
		return PYTHON_ENDS;
	place = w->segment && w->segment < STACK_WORDS ? python_find_place(slot, mark)
						       : PYTHON_NO_PLACE;
	if (place == PYTHON_NO_PLACE || w->segment >= STACK_WORDS ||
	    (w->n_looked && place == w->n_native))
		python_drop_segment(scratch, w);
	else
		scratch->def.words[w->segment & (STACK_WORDS - 1)] = runtime_segment_word(place);
	w->segment = 0;
	return w->is_full ? PYTHON_ENDS : PYTHON_GOES_ON;
}

/* ---- the walk ---- */

/* Reads the next frame into the window, unless present. Returns false if it can't be read. */
static __always_inline bool python_fetch(struct python_walk *w)
{
	__u64 at = w->frame;
	__u32 below;

	if (at >= w->window && at + PYTHON_FRAME_BYTES <= w->window_end)
		return true;
	below = at & (PYTHON_PAGE - 8); /* the previous page may be unmapped */
	below = below < PYTHON_WINDOW_BELOW ? below : PYTHON_WINDOW_BELOW;
	python_keep(below);
	below &= PYTHON_WINDOW_BYTES - 1;
	if (below > PYTHON_WINDOW_BELOW ||
	    bpf_probe_read_user(w->bytes, below + PYTHON_FRAME_BYTES, (void *)(at - below)))
		return false;
	w->window = at - below;
	w->window_end = at + PYTHON_FRAME_BYTES;
	return true;
}

static __always_inline struct python_recent *python_recent_of(struct python_walk *w)
{
	return &w->recent[(w->code_at >> 4 ^ w->code_at >> 8) % PYTHON_RECENT];
}

/* Returns the fingerprint of a frame's code object, see python_define(); cached if possible. */
static __always_inline __u64 python_recall(__u32 slot, struct python_walk *w)
{
	struct python_recent *recent = python_recent_of(w);
	__u64 fingerprint;

	if (recent->walk == w->number && recent->code == w->code_at)
		return recent->fingerprint;
	fingerprint = python_fingerprint(slot, w->code_at);
	if (fingerprint && !runtime_was_sent(fingerprint))
		fingerprint = python_define(slot, w->code_at, fingerprint);
	recent = python_recent_of(w);
	recent->walk = w->number;
	recent->code = w->code_at;
	recent->fingerprint = fingerprint;
	return fingerprint;
}

/*
 * Visits a frame, whose data is in the walk, to save stack. If a frame doesn't fit, the walk
 * continues to its segment's end, and only the segment's innermost frames are recorded.
 */
__noinline int python_visit(__u32 slot)
{
	struct stack_scratch *scratch = stack_scratch_of(slot);
	struct python_walk *w = python_walk_of(slot);
	__u64 fingerprint;

	if (!w || !scratch)
		return PYTHON_ENDS;
	fingerprint = python_recall(slot, w);
	if (fingerprint == PYTHON_NO_CODE)
		return PYTHON_ENDS;
	scratch->fingerprints = runtime_mix(scratch->fingerprints, fingerprint);
	if (fingerprint == PYTHON_NO_FRAME)
		return PYTHON_GOES_ON;
	python_push_frame(scratch, w, runtime_word(w->code_at, fingerprint),
			  (w->instruction_at - w->code_at - w->layout.code_adaptive) >> 1);
	return w->segment ? PYTHON_GOES_ON : PYTHON_ENDS;
}

/*
 * 3.11: moves from a segment's struct _PyCFrame to the previous one. A new call may have published
 * its _PyCFrame before it has set the frame: then this leads to the remains of an earlier call, and
 * the callers don't match. Drops all frames found in this case. Inline: on 5.10 one more call takes
 * too much stack.
 */
static __always_inline int python_leave_cframe(__u32 slot, struct python_walk *w)
{
	struct stack_scratch *scratch = stack_scratch_of(slot);
	__u64 mark = w->cframe, caller = 0;

	if (!scratch || !python_read(w->cframe, mark + w->layout.cframe_frame + sizeof(__u64)) ||
	    !python_read(caller, w->cframe + w->layout.cframe_frame))
		return PYTHON_ENDS;
	if (caller == w->frame)
		return python_end_segment(slot, mark);
	scratch->def.n_words = w->n_native;
	scratch->fingerprints = w->segment = w->is_full = 0;
	return PYTHON_ENDS;
}

/*
 * Returns true if w->frame isn't the true caller. In 3.11 compiled code may publish a new frame
 * before it sets the caller: until then the frame has the caller of an earlier frame at its
 * address. For functions that is the same address, but it may be a generator that is not running
 * any more.
 */
static __always_inline bool python_caller_is_wrong(const struct python_walk *w, const __u8 *frame)
{
	__u8 state = PYTHON_GENERATOR_RUNS;

	if (!w->layout.ends_inside || !w->has_not_begun ||
	    python_u8(frame, w->layout.frame_owner + 1) != PYTHON_OWNED_BY_GENERATOR)
		return false;
	return !python_read(state, w->frame - PYTHON_GENERATOR_STATE) ||
	       state != PYTHON_GENERATOR_RUNS;
}

/* Handles a frame, or an entry frame, which ends a segment since 3.12. */
__noinline int python_step(__u32 slot)
{
	struct python_walk *w = python_walk_of(slot);
	const __u8 *frame;
	__u64 mark;
	bool is_entry;

	if (!w || !w->frame || !python_fetch(w))
		return PYTHON_ENDS;
	barrier(); /* one verifier state for the window in both cases */
	frame = w->bytes + ((w->frame - w->window) & (PYTHON_WINDOW_BYTES - 1));
	if (python_caller_is_wrong(w, frame))
		return PYTHON_ENDS;
	mark = w->frame;
	w->frame = python_u64(frame, w->layout.frame_previous);
	is_entry = python_u8(frame, w->layout.frame_owner) >= w->layout.entry_owner;
	if (is_entry && !w->layout.ends_inside)
		return python_end_segment(slot, mark);
	w->code_at = python_u64(frame, w->layout.frame_code) & ~(__u64)PYTHON_LAST_TAG;
	w->instruction_at = python_u64(frame, w->layout.frame_instr);
	w->has_not_begun = w->instruction_at < w->code_at + w->layout.code_adaptive;
	if (!w->is_full && python_visit(slot) != PYTHON_GOES_ON)
		return PYTHON_ENDS;
	return is_entry ? python_leave_cframe(slot, w) : PYTHON_GOES_ON;
}

/*
 * Walks a chunk of frames. Loops are not unrolled from here on: the kernel's check of the total
 * stack depth (check_max_stack_depth()) follows each call instruction.
 */
__noinline int python_walk_some(__u32 slot)
{
	if (!RUNTIME_HAS(PYTHON_KINDS))
		return PYTHON_ENDS;
#pragma nounroll
	for (int i = 0; i < PYTHON_CHUNK; i++)
		if (python_step(slot) != PYTHON_GOES_ON)
			return PYTHON_ENDS;
	return PYTHON_GOES_ON;
}

/* Steps along the lists towards another state of this thread. A list ends if it can't be read. */
__noinline int python_look(__u32 slot)
{
	struct python_walk *w = python_walk_of(slot);
	__u64 state, owner = 0;

	if (!w || ++w->n_looked > PYTHON_LOOKS || (!w->interpreter && !w->state))
		return PYTHON_ENDS;
	state = w->state;
	if (!state) {
		python_read(w->state, w->interpreter + w->layout.lists.threads);
		python_read(w->interpreter, w->interpreter + w->layout.lists.older);
		return PYTHON_LOOKS_ON;
	}
	python_read(w->state, state + w->layout.lists.next);
	python_read(owner, state + w->layout.thread_id);
	if (owner != w->owner || state == w->first_state)
		return PYTHON_LOOKS_ON;
	python_enter(w, state);
	return w->frame ? PYTHON_GOES_ON : PYTHON_LOOKS_ON;
}

/* Continues with another state of this thread, after the current one. */
__noinline int python_next_state(__u32 slot)
{
	struct stack_scratch *scratch = stack_scratch_of(slot);
	struct python_walk *w = python_walk_of(slot);
	int turn = PYTHON_LOOKS_ON;

	if (!w || !scratch)
		return PYTHON_ENDS;
	python_drop_segment(scratch, w);
	if (w->is_full || (!w->n_looked && !python_has_others(w, scratch->def.tgid)))
		return PYTHON_ENDS;
#pragma nounroll
	for (int i = 0; i < PYTHON_LOOKS && turn == PYTHON_LOOKS_ON; i++)
		turn = python_look(slot);
	return turn;
}

__noinline int python_walk_more(__u32 slot)
{
	if (!RUNTIME_HAS(PYTHON_KINDS))
		return PYTHON_ENDS;
#pragma nounroll
	for (int i = 0; i < PYTHON_CHUNK; i++)
		if (python_walk_some(slot) != PYTHON_GOES_ON)
			return python_next_state(slot);
	return PYTHON_GOES_ON;
}

static __always_inline void python_walk_segments(__u32 slot, struct stack_scratch *scratch,
						 struct python_walk *w)
{
#pragma nounroll
	for (int i = 0; i < PYTHON_CHUNK; i++)
		if (python_walk_more(slot) != PYTHON_GOES_ON)
			break;
	python_drop_segment(scratch, w);
}

#include "runtimes/python_marks.bpf.h"

/*
 * Returns the thread's state, by the state's offset; 0: none. Checks that it is this thread's: a
 * wrong offset leads to no frames, not to wrong ones.
 */
static __always_inline __u64 python_own_state(const struct python_layout *l, __u64 thread)
{
	__u64 state = 0, owner = 0;

	if (!l->state_offset || !python_read(state, thread + l->state_offset) || !state ||
	    !python_read(owner, state + l->thread_id) || owner != thread + l->self_offset)
		return 0;
	return state;
}

/*
 * Returns the only state in the process's memory, if the current thread is the memory's only user
 * (no other thread, no vfork() child); 0: none. Needs neither the offset of thread states, which
 * the loader finds late, nor the thread pointer, which arm64 kernels don't know before a thread's
 * first switch-out. A process that reads the memory counts as a user, too: then returns 0.
 */
static __always_inline __u64 python_only_state(const struct python_layout *l)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	__u64 interpreter = 0, state = 0, next = 0;

	if (BPF_CORE_READ(task, mm, mm_users.counter) != 1 ||
	    !python_read(interpreter, l->runtime + l->lists.interpreters) || !interpreter ||
	    !python_read(state, interpreter + l->lists.threads) || !state ||
	    !python_read(next, state + l->lists.next) || next)
		return 0;
	return state;
}

/* Begins at the innermost frame of the thread's current state, if found. */
static __always_inline void python_begin(struct python_walk *w)
{
	__u64 thread = task_thread_base((void *)bpf_get_current_task()),
	      state = python_own_state(&w->layout, thread);

	if (!state)
		state = python_only_state(&w->layout);
	w->first_state = state;
	w->owner = thread + w->layout.self_offset;
	python_enter(w, state);
}

/*
 * Returns true if the process has mapped the library, but runs no Python: the list of interpreters
 * is empty. Records the list's head, so that walks can be cached like native ones.
 */
static __always_inline bool python_is_unused(struct stack_scratch *scratch,
					     const struct python_layout *l)
{
	__u64 at = l->runtime + l->lists.interpreters, interpreter = 0;

	if (!scratch->walk.recorder)
		return false;
	if (python_read(interpreter, at) && !interpreter) {
		stack_memory_note(scratch->walk.recorder - 1, at, 0);
		return true;
	}
	scratch->walk.recorder = 0; /* later reads are not compared */
	return false;
}

/* Appends the current task's Python frames to its native stack in the slot. */
static __always_inline void python_walk(__u32 slot, struct stack_scratch *scratch,
					const struct runtime_process *process)
{
	struct python_walk *w = python_walk_of(slot);

	if (!w || python_is_unused(scratch, &process->python))
		return;
	w->layout = process->python;
	w->serial = process->serial;
	w->number++;
	w->segment = 0;
	w->is_full = w->has_new = false;
	w->n_native = scratch->def.n_words;
	w->window = w->window_end = w->n_looked = 0;
	python_begin(w);
	if (RUNTIME_HAS(RUNTIME_BIT(RUNTIME_PYTHON_OLD)) && w->layout.eval_begin)
		python_walk_marks(slot, scratch, w);
	else
		python_walk_segments(slot, scratch, w);
	if (w->is_full && scratch->def.reason == UNWIND_COMPLETE)
		scratch->def.reason = UNWIND_DEPTH;
}

#endif
