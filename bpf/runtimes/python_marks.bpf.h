/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Walks Python frames before 3.11, for python.bpf.h: a list of heap objects, innermost first, each
 * run by one call of the evaluating function. The call's stack frame has a marker, the address of
 * its Python frame's variables (abi/python.h), so native and Python frames are walked side by side.
 * The innermost call may run no frame: not yet in the list, or already removed. Any other mismatch
 * drops the Python frames of the whole stack.
 *
 * So after a mismatch the walk restarts without the innermost call. That call may also match by
 * accident: until it writes its marker, the slot holds remains of an earlier call, possibly the
 * address of the calling frame, since frames reuse memory. Then the next call, whose marker is
 * certain, mismatches. A single frame is valid only if there is no other call.
 *
 * All of this is dead code for the verifier if runtime_settings exclude this Python.
 */
#ifndef PYTHON_MARKS_BPF_H
#define PYTHON_MARKS_BPF_H

#define PYTHON_MANY_REFUSED 8
#define PYTHON_MARK_CHUNK   64
#define PYTHON_MARK_TURNS   (2 * (STACK_DEPTH / STACK_CHUNK + 1))

static __always_inline struct python_walk *python_marks_of(__u32 slot)
{
	return RUNTIME_HAS(RUNTIME_BIT(RUNTIME_PYTHON_OLD)) ? python_walk_of(slot) : NULL;
}

static __always_inline __u64 python_variables(const struct python_walk *w)
{
	return w->frame + w->layout.frame_locals;
}

/* Returns the size in bytes of the current frame's locals, which are its first variables. */
static __always_inline __u64 python_locals_bytes(const struct python_walk *w)
{
	__u64 code = 0;
	__u32 n_locals = 0;

	if (!python_read(code, w->frame + w->layout.frame_code) ||
	    !python_read(n_locals, code + PYTHON_CODE_LOCALS))
		return 0;
	return n_locals * sizeof(__u64);
}

/* Searches a chunk of a call's stack frame. Returns the marker's offset, or PYTHON_MARK_BYTES. */
__noinline __u32 python_find_word(__u32 slot, __u32 from, __u64 first, __u64 behind)
{
	struct python_walk *w = python_marks_of(slot);
	__u64 word;
	__u32 at;

	if (!w)
		return PYTHON_MARK_BYTES;
	for (__u32 i = 0; i < PYTHON_MARK_CHUNK; i += 8) {
		at = (from + i) & (PYTHON_MARK_BYTES - 8);
		word = *(__u64 *)(w->bytes + at);
		if (word == first || word == behind)
			return at;
	}
	return PYTHON_MARK_BYTES;
}

/*
 * Searches a call's stack frame, below the saved registers, for the current frame's marker. Returns
 * its distance from the end of the stack frame, or 0. The search starts at varying offsets: a slot
 * that holds the address by accident must not be found every time.
 */
__noinline __u32 python_find_mark(__u32 slot, __u64 begin, __u64 end)
{
	struct python_walk *w = python_marks_of(slot);
	__u64 from = end - UNWIND_SAVED_BYTES - PYTHON_MARK_BYTES, first, behind;
	__u32 at;

	if (!w || !w->frame || bpf_probe_read_user(w->bytes, PYTHON_MARK_BYTES, (void *)from))
		return 0;
	first = python_variables(w);
	behind = first + python_locals_bytes(w);
	for (__u32 i = 0; i < PYTHON_MARK_BYTES; i += PYTHON_MARK_CHUNK) {
		at = python_find_word(slot, i + w->number * PYTHON_MARK_CHUNK, first, behind);
		if (at < PYTHON_MARK_BYTES && from + at >= begin)
			return end - from - at;
	}
	return 0;
}

/* Returns the address of a call's marker; searches for the distance first if it is unknown. */
static __always_inline __u64 python_mark_of(__u32 slot, const struct stack_scratch *scratch,
					    struct python_walk *w, __u32 n)
{
	__u64 end = scratch->sps[(n + 1) & (STACK_DEPTH - 1)];

	if (!w->layout.mark_distance)
		w->layout.mark_distance =
			python_find_mark(slot, scratch->sps[n & (STACK_DEPTH - 1)], end);
	return end - w->layout.mark_distance;
}

/* Reads the current frame. Returns false if the marker at that address isn't the frame's. */
static __always_inline bool python_is_marked(struct python_walk *w, __u64 mark)
{
	__u64 word = 0;

	return w->frame && w->layout.mark_distance && python_read(word, mark) &&
	       !bpf_probe_read_user(w->bytes, PYTHON_OBJECT_BYTES, (void *)w->frame) &&
	       word - python_variables(w) <=
		       (__u32)python_u64(w->bytes, PYTHON_VARIABLES) * sizeof(__u64);
}

/* Records the frame that has been read, and continues with its caller. */
static __always_inline bool python_take_object(__u32 slot, struct python_walk *w)
{
	__u64 instruction = (__u32)python_u64(w->bytes, w->layout.frame_instr);

	w->frame = python_u64(w->bytes, w->layout.frame_previous);
	w->code_at = python_u64(w->bytes, w->layout.frame_code);
	w->instruction_at = w->code_at + (instruction << (w->layout.instr_shift & 1));
	return python_visit(slot) == PYTHON_GOES_ON;
}

/* Handles a call of the function that evaluates bytecode. */
__noinline int python_place(__u32 slot, __u32 n)
{
	struct stack_scratch *scratch = stack_scratch_of(slot);
	struct python_walk *w = python_marks_of(slot);
	__u64 mark;

	if (!w || !scratch || n + 1 >= w->n_native)
		return PYTHON_ENDS; /* the end of its stack frame is unknown */
	if (++w->n_calls == 1 && w->skips_call)
		return PYTHON_GOES_ON;
	mark = python_mark_of(slot, scratch, w, n);
	if (!python_is_marked(w, mark)) {
		w->disagrees = w->frame || w->n_placed < 2;
		return PYTHON_ENDS;
	}
	if (!python_take_object(slot, w)) {
		w->disagrees = !w->is_full;
		return PYTHON_ENDS;
	}
	w->n_placed++;
	return python_end_segment(slot, mark);
}

/* Handles a chunk of native frames. */
__noinline int python_place_some(__u32 slot)
{
	struct stack_scratch *scratch = stack_scratch_of(slot);
	struct python_walk *w = python_marks_of(slot);
	__u32 first, n;
	__u64 word;

	if (!w || !scratch)
		return PYTHON_ENDS;
	first = w->next_native;
	w->next_native = first + STACK_CHUNK;
	for (__u32 i = 0; i < STACK_CHUNK; i++) {
		n = first + i;
		if (n >= w->n_native)
			return PYTHON_ENDS;
		word = stack_address(scratch->def.words[n & (STACK_DEPTH - 1)]);
		if (word - 1 - w->layout.eval_begin < w->layout.eval_bytes &&
		    python_place(slot, n) != PYTHON_GOES_ON)
			return PYTHON_ENDS;
	}
	return PYTHON_GOES_ON;
}

/* Begins a walk at the innermost frame. skips_call: omits the innermost call. */
static __always_inline void python_begin_marks(struct stack_scratch *scratch, struct python_walk *w,
					       bool skips_call)
{
	w->frame = w->innermost;
	w->skips_call = skips_call;
	w->next_native = w->n_calls = w->n_placed = w->segment = 0;
	w->disagrees = w->is_full = false;
	scratch->def.n_words = w->n_native;
	scratch->fingerprints = 0;
}

/* Returns true if all calls and frames agree, as far as the native walk and the space reach. */
static __always_inline bool python_agrees(const struct stack_scratch *scratch,
					  const struct python_walk *w)
{
	bool is_whole = scratch->def.reason == UNWIND_COMPLETE && !w->is_full;

	if (w->disagrees || !w->n_placed)
		return false;
	return is_whole ? !w->frame : w->n_placed > 1;
}

/* Stores the offset of markers that a stack has confirmed. */
static __always_inline void python_learn(const struct python_walk *w, struct python_layout *layout)
{
	if (w->n_placed < 2)
		return;
	if (layout->mark_distance != w->layout.mark_distance)
		layout->mark_distance = w->layout.mark_distance;
	if (layout->n_refused)
		layout->n_refused = 0;
}

/* Counts a refused stack. After many, resets the offset, which may be wrong. */
static __always_inline void python_doubt(struct python_layout *layout)
{
	if (++layout->n_refused < PYTHON_MANY_REFUSED)
		return;
	layout->n_refused = 0;
	layout->mark_distance = 0;
}

/* Ends the walk. Returns PYTHON_GOES_ON to walk again, without the innermost call. */
__noinline int python_judge_marks(__u32 slot)
{
	struct stack_scratch *scratch = stack_scratch_of(slot);
	struct python_walk *w = python_marks_of(slot);
	struct runtime_process *process;
	bool was_last;

	if (!w || !scratch)
		return PYTHON_ENDS;
	process = bpf_map_lookup_elem(&runtime_processes, &scratch->def.tgid);
	python_drop_segment(scratch, w);
	if (process && python_agrees(scratch, w)) {
		python_learn(w, &process->python);
		return PYTHON_ENDS;
	}
	was_last = !process || w->skips_call;
	if (process && w->skips_call)
		python_doubt(&process->python);
	if (process)
		w->layout.mark_distance = process->python.mark_distance;
	python_begin_marks(scratch, w, true);
	return was_last ? PYTHON_ENDS : PYTHON_GOES_ON;
}

/* Walks the current task's frames, from the innermost one, w->frame. */
static __always_inline void python_walk_marks(__u32 slot, struct stack_scratch *scratch,
					      struct python_walk *w)
{
	w->innermost = w->frame;
	python_begin_marks(scratch, w, false);
	for (int i = 0; w->innermost && i < PYTHON_MARK_TURNS; i++)
		if (python_place_some(slot) != PYTHON_GOES_ON &&
		    python_judge_marks(slot) != PYTHON_GOES_ON)
			break;
}

#endif
