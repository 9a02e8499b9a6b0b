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

#include "runtimes/python_code.bpf.h"
#include "runtimes/python_state.bpf.h"
#include "stack/stack_memory.bpf.h"
#include "stack/unwind_slots.bpf.h"
#include "abi/search.h"

enum python_turn {
	PYTHON_GOES_ON,
	PYTHON_ENDS,
	PYTHON_LOOKS_ON, /* nothing found in this state: the next one follows */
};

#define PYTHON_LAST_TAG	   7 /* 3.14: tag in the low bits of f_executable */
#define PYTHON_PAGE	   4096
#define PYTHON_CHUNK	   16 /* at most 16^3 frames are visited: the list may be cyclic */
#define PYTHON_NO_PLACE	   STACK_DEPTH
#define PYTHON_PLACE_STEPS 10 /* 2^10 is above STACK_DEPTH */
#define PYTHON_LOOKS	   64 /* maximum number of interpreters and thread states visited */

#define python_u64(bytes, at) (*(__u64 *)((bytes) + ((at)&0x78)))
#define python_u8(bytes, at)  (*(volatile __u8 *)((bytes) + ((at)&0x7f)))

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
 * Ends a segment with the native frame that holds the marker. Drops the segment if it has no
 * frames, if no native frame holds the marker, or if it would follow the last native frame in a
 * second state: the order of such segments is unknown.
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
	barrier_var(below);
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
	if (fingerprint == PYTHON_NO_CODE) {
		python_depend(scratch, w);
		return PYTHON_ENDS;
	}
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
	python_note(slot, w, mark + w->layout.cframe_frame + sizeof(__u64), w->cframe, 0);
	python_note(slot, w, w->cframe + w->layout.cframe_frame, caller, 0);
	if (caller == w->frame)
		return python_end_segment(slot, mark);
	python_depend(scratch, w);
	scratch->def.n_words = w->n_native;
	scratch->fingerprints = w->segment = w->is_full = 0;
	return PYTHON_ENDS;
}

/*
 * Returns true if w->frame isn't the true caller. In 3.11 compiled code may publish a new frame
 * before it sets the caller: until then the frame has the caller of an earlier frame at its
 * address. For functions that is the same address, but it may be a generator that no longer runs.
 */
static __always_inline bool python_caller_is_wrong(__u32 slot, struct python_walk *w,
						   const __u8 *frame)
{
	struct stack_scratch *scratch = stack_scratch_of(slot);
	__u8 state = PYTHON_GENERATOR_RUNS;

	if (!w->layout.ends_inside || !w->previous_at ||
	    python_u8(frame, w->layout.frame_owner + 1) != PYTHON_OWNED_BY_GENERATOR)
		return false;
	python_note(slot, w, w->previous_at + w->layout.frame_instr, w->instruction_at, 0);
	if (!w->has_not_begun || !scratch)
		return false;
	python_depend(scratch, w);
	return !python_read(state, w->frame - PYTHON_GENERATOR_STATE) ||
	       state != PYTHON_GENERATOR_RUNS;
}

/*
 * Records the fields of the current frame that are used. Since 3.12 the code object also shows
 * whether the frame is an entry frame.
 */
static __always_inline void python_note_frame(__u32 slot, const struct python_walk *w,
					      const __u8 *frame)
{
	const struct python_layout *l = &w->layout;

	if (!w->is_recorded)
		return;
	stack_memory_note_some(slot, w->frame + l->frame_previous,
			       python_u64(frame, l->frame_previous), 0, STACK_PAGE_ABOVE);
	stack_memory_note_some(slot, w->frame + l->frame_code, python_u64(frame, l->frame_code), 0,
			       STACK_PAGE_ABOVE);
	if (l->ends_inside)
		stack_memory_note_some(slot, w->frame + PYTHON_OWNER_WORD,
				       python_u64(frame, PYTHON_OWNER_WORD), STACK_BYTES(4, 5),
				       STACK_PAGE_ABOVE);
	if (runtime_settings.lines)
		stack_memory_note_some(slot, w->frame + l->frame_instr,
				       python_u64(frame, l->frame_instr), 0, STACK_PAGE_ABOVE);
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
	if (python_caller_is_wrong(slot, w, frame))
		return PYTHON_ENDS;
	python_note_frame(slot, w, frame);
	mark = w->frame;
	w->frame = python_u64(frame, w->layout.frame_previous);
	is_entry = python_u8(frame, w->layout.frame_owner) >= w->layout.entry_owner;
	if (is_entry && !w->layout.ends_inside)
		return python_end_segment(slot, mark);
	w->code_at = python_u64(frame, w->layout.frame_code) & ~(__u64)PYTHON_LAST_TAG;
	w->instruction_at = python_u64(frame, w->layout.frame_instr);
	w->previous_at = mark;
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
	if (w->frame) /* the list's end was not reached: unreadable, or not plausible */
		python_depend(scratch, w);
}

#include "runtimes/python_marks.bpf.h"

/*
 * Returns the thread's state, by the state's offset; 0: none. Checks that it is this thread's: a
 * wrong offset leads to no frames, not to wrong ones.
 */
__noinline __u64 python_own_state(__u32 slot, __u64 thread)
{
	struct python_walk *w = python_walk_of(slot);
	const struct python_layout *l;
	__u64 state = 0, owner = 0;

	if (!w)
		return 0;
	l = &w->layout;
	if (!l->state_offset || !python_read(state, thread + l->state_offset) || !state ||
	    !python_read(owner, state + l->thread_id) || owner != thread + l->self_offset)
		return 0;
	python_note_object(slot, w, thread + l->state_offset, &state, 1);
	python_note_object(slot, w, state + l->thread_id, &owner, 1);
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

/* Records how the thread's state has led to the innermost frame, whose address is a selector. */
__noinline int python_note_begin(__u32 slot, __u64 state)
{
	struct stack_scratch *scratch = stack_scratch_of(slot);
	struct python_walk *w = python_walk_of(slot);
	__u64 top, link;

	if (!w || !scratch || !w->is_recorded)
		return 0;
	top = state + w->layout.top;
	link = w->cframe + w->layout.cframe_frame;
	python_note_object(slot, w, top, w->layout.has_cframe ? &w->cframe : &w->frame, 1);
	if (w->layout.has_cframe)
		python_note(slot, w, link, w->frame, 0);
	stack_memory_note_thread(scratch, w->layout.has_cframe ? link : top, w->frame);
	return 0;
}

/* Begins at the innermost frame of the thread's current state, if found. */
__noinline int python_begin(__u32 slot)
{
	struct stack_scratch *scratch = stack_scratch_of(slot);
	struct python_walk *w = python_walk_of(slot);
	__u64 thread, state;

	if (!w || !scratch)
		return 0;
	thread = current_thread_base();
	state = python_own_state(slot, thread);
	if (!state) {
		python_depend(scratch, w);
		state = python_only_state(&w->layout);
	}
	w->first_state = state;
	w->owner = thread + w->layout.self_offset;
	python_enter(w, state);
	python_note_begin(slot, state);
	return 0;
}

/*
 * Returns true if the process has mapped the library, but runs no Python: the list of interpreters
 * is empty. Records the list's ends; the walk depends on more if there are several interpreters.
 */
static __always_inline bool python_is_unused(__u32 slot, struct stack_scratch *scratch,
					     struct python_walk *w)
{
	__u64 at = w->layout.runtime + w->layout.lists.interpreters;
	__u64 ends[2] = {}; /* newest and main interpreter */

	w->is_recorded = scratch->walk.recorder;
	if (!w->is_recorded)
		return false;
	if (!python_read(ends, at) || ends[0] != ends[1])
		python_depend(scratch, w);
	python_note_object(slot, w, at, ends, 2);
	return w->is_recorded && !ends[0];
}

/* Appends the current task's Python frames to its native stack in the slot. */
static __always_inline void python_walk(__u32 slot, struct stack_scratch *scratch,
					const struct runtime_process *process)
{
	struct python_walk *w = python_walk_of(slot);

	if (!w)
		return;
	w->layout = process->python;
	if (python_is_unused(slot, scratch, w))
		return;
	w->serial = process->serial;
	w->number++;
	w->segment = 0;
	w->is_full = w->has_new = false;
	w->n_native = scratch->def.n_words;
	w->window = w->window_end = w->n_looked = 0;
	if (w->layout.eval_begin)
		python_depend(scratch, w);
	python_begin(slot);
	if (RUNTIME_HAS(RUNTIME_BIT(RUNTIME_PYTHON_OLD)) && w->layout.eval_begin)
		python_walk_marks(slot, scratch, w);
	else
		python_walk_segments(slot, scratch, w);
	scratch->is_cut = w->is_full;
}

#endif
