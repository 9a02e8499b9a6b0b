// SPDX-License-Identifier: GPL-2.0-only
/* Walks Python frames from outside; see walk.h. */
#include <stdbool.h>
#include <stdlib.h>

#include "abi/stack.h"
#include "abi/unwind_regs.h"
#include "base/load.h"
#include "base/mem.h"
#include "base/peek.h"
#include "runtimes/python/walk.h"

#define MAX_TURNS 4096 /* maximum steps, as in BPF: lists may be circular */
#define MAX_LOOKS 64   /* maximum visited interpreters and states */
#define LAST_TAG  7ULL /* since 3.14: tag bits of f_executable */

struct walk {
	const struct runtime_thread *thread;
	uint64_t frame, cframe;
	uint64_t first_state, interpreter, state; /* interpreter, state: visited next; 0: none */
	unsigned int n_looked;
	bool has_not_begun; /* the previous frame has not begun to run */
	uint64_t *words;
	size_t n, max, segment; /* index of the segment's word; 0: no segment */
	bool is_full;		/* a frame did not fit */
	struct python_def def;
	uint8_t code[PYTHON_CODE_BYTES];
};

static bool read_bytes(const struct walk *w, uint64_t addr, void *to, size_t n)
{
	return peek_all(w->thread->tid, addr, to, n);
}

static bool peek_word(const struct walk *w, uint64_t addr, uint64_t *word)
{
	return read_bytes(w, addr, word, sizeof(*word));
}

/* ---- definitions ---- */

/* Reads the characters of a str object, at most max bytes; of a long one the end, if wanted. */
static bool read_text(const struct walk *w, uint64_t at, struct python_text *text, uint8_t *bytes,
		      size_t max, bool wants_end)
{
	const struct python_layout *l = &w->thread->process.python;
	uint64_t length, n, skip = 0;
	uint32_t state;

	if (!at || !peek_word(w, at + PYTHON_STR_LENGTH, &length) ||
	    !read_bytes(w, at + PYTHON_STR_HASH + sizeof(uint64_t), &state, sizeof(state)))
		return false;
	text->state = state;
	text->length = length < 0xffff ? (uint32_t)length : 0xffff;
	n = (uint64_t)text->length * PYTHON_STR_KIND(state);
	if (n > max && wants_end)
		skip = n - max;
	at += state & PYTHON_STR_ASCII ? l->str_ascii : l->str_compact;
	return read_bytes(w, at + skip, bytes, n < max ? n : max);
}

static void read_lines(const struct walk *w, struct python_def *def)
{
	uint64_t table = load_u64(w->code + w->thread->process.python.code_lines), n;

	def->n_lines = 0;
	def->lines_kind = PYTHON_LINES_LOCATIONS;
	if (!w->thread->lines || !peek_word(w, table + PYTHON_BYTES_LENGTH, &n) ||
	    n >= PYTHON_LINES_BYTES ||
	    (n && !read_bytes(w, table + PYTHON_BYTES_TEXT, def->lines, n)))
		return;
	def->n_lines = (uint16_t)n;
	def->lines_kind = w->thread->process.python.lines_kind;
}

static bool is_shim(const struct walk *w)
{
	return load_u64(w->code + PYTHON_CODE_FILENAME) == load_u64(w->code + PYTHON_CODE_NAME) &&
	       !w->def.first_line;
}

/* Defines the function of a code object. False: not a code object. */
static bool define(struct walk *w, uint64_t code)
{
	const struct python_layout *l = &w->thread->process.python;
	struct python_def *def = &w->def;

	if (!read_bytes(w, code, w->code, sizeof(w->code)) ||
	    load_u64(w->code + PYTHON_TYPE) != l->code_type)
		return false;
	def->first_line = load_u32(w->code + l->code_first_line);
	def->def.fingerprint =
		runtime_mix(runtime_mix(w->thread->process.serial, code), w->thread->base);
	def->def.word = runtime_word(code, def->def.fingerprint);
	def->def.kind = STACK_FUNCTION;
	def->def.tgid = w->thread->tgid;
	def->def.runtime = RUNTIME_PYTHON;
	if (!read_text(w, load_u64(w->code + l->code_name), &def->name_text, def->name,
		       PYTHON_NAME_BYTES - 1, false))
		return false;
	def->has_file = read_text(w, load_u64(w->code + l->code_file), &def->file_text, def->file,
				  PYTHON_FILE_END_BYTES, true);
	read_lines(w, def);
	w->thread->definer.define(&def->def, offsetof(struct python_def, lines) + def->n_lines,
				  w->thread->definer.arg);
	return true;
}

/* ---- words ---- */

/* Appends a frame's word, preceded by the segment's if it is the first. False: no space. */
static bool push_frame(struct walk *w, uint64_t code, uint64_t instruction_at)
{
	uint64_t instruction =
		(instruction_at - code - w->thread->process.python.code_adaptive) >> 1;

	w->is_full = w->n + !w->segment + 1 + w->thread->lines > w->max;
	if (w->is_full)
		return false;
	if (!w->segment) {
		w->segment = w->n;
		w->words[w->n++] = runtime_segment_word(0);
	}
	w->words[w->n++] = w->def.def.word;
	if (w->thread->lines)
		w->words[w->n++] = (uint32_t)instruction;
	return true;
}

static void drop_segment(struct walk *w)
{
	if (w->segment)
		w->n = w->segment;
	w->segment = 0;
}

static void end_segment(struct walk *w, uint64_t mark)
{
	const uint64_t *sps = w->thread->sps;
	size_t n = w->thread->n_native, frame = 0;

	while (frame < n && sps[frame] <= mark)
		frame++;
	if (!frame || !w->segment || (w->n_looked && frame == n)) {
		drop_segment(w);
		return;
	}
	w->words[w->segment] = runtime_segment_word((uint32_t)(frame < n ? frame - 1 : n));
	w->segment = 0;
}

/* ---- the walk ---- */

/* Does the same as python_caller_is_wrong() in bpf/runtimes/python.bpf.h, for 3.11. */
static bool caller_is_wrong(struct walk *w, const uint8_t *frame)
{
	const struct python_layout *l = &w->thread->process.python;
	uint8_t state;

	if (!l->ends_inside || !w->has_not_begun ||
	    frame[l->frame_owner + 1] != PYTHON_OWNED_BY_GENERATOR)
		return false;
	return !read_bytes(w, w->frame - PYTHON_GENERATOR_STATE, &state, sizeof(state)) ||
	       state != PYTHON_GENERATOR_RUNS;
}

/* Does the same as python_leave_cframe() in bpf/runtimes/python.bpf.h, for 3.11. */
static bool leave_cframe(struct walk *w)
{
	uint8_t offset = w->thread->process.python.cframe_frame;
	uint64_t mark = w->cframe, caller;

	if (!peek_word(w, mark + offset + sizeof(uint64_t), &w->cframe) ||
	    !peek_word(w, w->cframe + offset, &caller))
		return false;
	if (caller == w->frame) {
		end_segment(w, mark);
		return !w->is_full;
	}
	w->n = w->thread->n_native;
	w->segment = 0;
	w->is_full = false;
	return false;
}

/* Defines and records a frame. False: not a frame, or its segment doesn't fit. */
static bool visit(struct walk *w, uint64_t code, uint64_t instruction_at)
{
	return define(w, code) && (is_shim(w) || push_frame(w, code, instruction_at) || w->segment);
}

/*
 * Handles one frame, or an entry frame. False: the walk ends. When the stack is full, only searches
 * for the segment's end.
 */
static bool step(struct walk *w)
{
	const struct python_layout *l = &w->thread->process.python;
	uint8_t frame[PYTHON_FRAME_BYTES];
	uint64_t mark = w->frame, code;
	bool is_entry;

	if (!mark || !read_bytes(w, mark, frame, sizeof(frame)))
		return false;
	if (caller_is_wrong(w, frame))
		return false;
	w->frame = load_u64(frame + l->frame_previous);
	is_entry = frame[l->frame_owner] >= l->entry_owner;
	if (is_entry && !l->ends_inside) {
		end_segment(w, mark);
		return !w->is_full;
	}
	code = load_u64(frame + l->frame_code) & ~LAST_TAG;
	w->has_not_begun = load_u64(frame + l->frame_instr) < code + l->code_adaptive;
	if (!w->is_full && !visit(w, code, load_u64(frame + l->frame_instr)))
		return false;
	return is_entry ? leave_cframe(w) : true;
}

/* Finds the innermost frame of a state. False: not this thread's state. */
static bool enter(struct walk *w, uint64_t state)
{
	const struct python_layout *l = &w->thread->process.python;
	uint64_t owner;

	w->has_not_begun = false;
	if (!state || !peek_word(w, state + l->thread_id, &owner) ||
	    owner != w->thread->base + (uint64_t)(int64_t)l->self_offset ||
	    !peek_word(w, state + l->top, &w->frame))
		return false;
	if (!l->has_cframe)
		return true;
	w->cframe = w->frame;
	return peek_word(w, w->cframe + l->cframe_frame, &w->frame);
}

static void begin(struct walk *w)
{
	const struct python_layout *l = &w->thread->process.python;

	if (!l->state_offset ||
	    !peek_word(w, w->thread->base + (uint64_t)(int64_t)l->state_offset, &w->first_state) ||
	    !enter(w, w->first_state))
		w->frame = 0;
}

/* ---- other interpreters: as in bpf/runtimes/python.bpf.h ---- */

/* Returns the next state of the lists. False: end of the lists. */
static bool look(struct walk *w, uint64_t *state)
{
	const struct python_lists *lists = &w->thread->process.python.lists;
	uint64_t interpreter = w->interpreter;

	*state = w->state;
	if (w->state)
		return peek_word(w, w->state + lists->next, &w->state);
	return interpreter && peek_word(w, interpreter + lists->threads, &w->state) &&
	       peek_word(w, interpreter + lists->older, &w->interpreter);
}

static bool has_others(struct walk *w)
{
	const struct python_layout *l = &w->thread->process.python;
	uint64_t ends[2];

	if (!read_bytes(w, l->runtime + l->lists.interpreters, ends, sizeof(ends)))
		return false;
	w->interpreter = ends[0];
	return ends[0] != ends[1];
}

/* Continues with another state of this thread, after the one already walked. */
static bool next_state(struct walk *w)
{
	uint64_t state;

	drop_segment(w);
	if (!w->n_looked && !has_others(w))
		return false;
	while (!w->is_full && w->n_looked++ < MAX_LOOKS && look(w, &state))
		if (state != w->first_state && enter(w, state))
			return true;
	return false;
}

/* ---- before 3.11: as in bpf/runtimes/python_marks.bpf.h ---- */

struct attempt {
	uint64_t distance;	  /* distance from a marker to the end of the call's stack frame */
	size_t n_calls, n_placed; /* calls of the evaluating function; those with a frame */
	bool skips_call, disagrees;
};

static bool is_call(const struct walk *w, size_t n)
{
	const struct python_layout *l = &w->thread->process.python;

	return stack_address(w->words[n]) - 1 - l->eval_begin < l->eval_bytes;
}

/* Reads the current frame. False: the marker at address mark doesn't belong to it. */
static bool is_marked(const struct walk *w, uint64_t mark, uint8_t *object)
{
	uint64_t word;

	return w->frame && peek_word(w, mark, &word) &&
	       read_bytes(w, w->frame, object, PYTHON_OBJECT_BYTES) &&
	       word - w->frame - w->thread->process.python.frame_locals <=
		       (uint32_t)load_u64(object + PYTHON_VARIABLES) * sizeof(word);
}

static bool take_object(struct walk *w, const uint8_t *object)
{
	const struct python_layout *l = &w->thread->process.python;
	uint64_t code = load_u64(object + l->frame_code),
		 instruction = load_u32(object + l->frame_instr);

	w->frame = load_u64(object + l->frame_previous);
	return define(w, code) && push_frame(w, code, code + (instruction << l->instr_shift));
}

/* Handles native frame n, a call of the evaluating function. False: the walk ends. */
static bool place(struct walk *w, struct attempt *a, size_t n)
{
	const uint64_t *sps = w->thread->sps;
	uint64_t mark = sps[n + 1] - a->distance;
	uint8_t object[PYTHON_OBJECT_BYTES];

	if (++a->n_calls == 1 && a->skips_call)
		return true;
	if (mark < sps[n] || !is_marked(w, mark, object)) {
		a->disagrees = w->frame || a->n_placed < 2;
		return false;
	}
	if (!take_object(w, object)) {
		a->disagrees = !w->is_full;
		return false;
	}
	a->n_placed++;
	end_segment(w, mark);
	return true;
}

static bool agrees(const struct walk *w, const struct attempt *a)
{
	if (a->disagrees || !a->n_placed)
		return false;
	return w->thread->is_complete && !w->is_full ? !w->frame : a->n_placed > 1;
}

static bool try_marks(struct walk *w, uint64_t distance, bool skips_call)
{
	struct attempt a = { .distance = distance, .skips_call = skips_call };
	uint64_t innermost = w->frame;
	size_t n_native = w->thread->n_native;

	for (size_t n = 0; n + 1 < n_native; n++)
		if (is_call(w, n) && !place(w, &a, n))
			break;
	drop_segment(w);
	if (agrees(w, &a))
		return true;
	w->frame = innermost;
	w->n = n_native;
	w->is_full = false;
	return false;
}

/* Walks by markers; tries all distances if BPF hasn't found the right one yet. */
static void walk_marks(struct walk *w)
{
	uint64_t known = w->thread->process.python.mark_distance,
		 first = known ? known : UNWIND_SAVED_BYTES + sizeof(uint64_t),
		 last = known ? known : UNWIND_SAVED_BYTES + PYTHON_MARK_BYTES;

	for (uint64_t at = first; at <= last; at += sizeof(uint64_t))
		if (try_marks(w, at, false) || try_marks(w, at, true))
			return;
}

static void walk_segments(struct walk *w)
{
	do
		for (int i = 0; i < MAX_TURNS && step(w); i++)
			;
	while (next_state(w));
}

size_t python_walk_remote(const struct runtime_thread *thread, uint64_t *words, size_t max,
			  bool *is_cut)
{
	struct walk *w = mem_zalloc(1, sizeof(*w));
	size_t n;

	w->thread = thread;
	w->words = words;
	w->n = thread->n_native;
	w->max = max;
	if (thread->n_native)
		begin(w);
	if (w->frame && thread->process.python.eval_begin)
		walk_marks(w);
	else if (thread->n_native && !thread->process.python.eval_begin)
		walk_segments(w);
	drop_segment(w);
	n = w->n;
	*is_cut = w->is_full;
	free(w);
	return n;
}
