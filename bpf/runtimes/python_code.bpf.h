/* SPDX-License-Identifier: GPL-2.0-only */
/* Identifies and defines the code object of a Python frame, and records what a walk has read. */
#ifndef PYTHON_CODE_BPF_H
#define PYTHON_CODE_BPF_H

#include "runtimes/python_state.bpf.h"
#include "stack/stack_memory.bpf.h"
#include "stack/unwind_slots.bpf.h"

#define PYTHON_NO_CODE	0 /* in place of a fingerprint: not a code object */
#define PYTHON_NO_FRAME 1 /* a code object that is not shown */

#define python_code(w, field) (*(__u64 *)((w)->code + ((w)->layout.code_##field & 0xf8)))

/* ---- recording ---- */

/* Ends recording: the walk depends on something that can't be compared later. */
static __always_inline void python_depend(struct stack_scratch *scratch, struct python_walk *w)
{
	scratch->walk.recorder = 0;
	w->is_recorded = false;
}

/* Records a word that determines the walk's path, or some of its STACK_BYTES(). */
static __always_inline void python_note(__u32 slot, const struct python_walk *w, __u64 addr,
					__u64 word, __u32 bytes)
{
	if (w->is_recorded)
		stack_memory_note_some(slot, addr, word, bytes, STACK_PAGE_ABOVE);
}

/* ---- identity of a code object ---- */

/* Records an object of n words, which does not change while it is in use. */
static __always_inline void python_note_object(__u32 slot, const struct python_walk *w, __u64 addr,
					       const void *words, __u32 n)
{
	if (w->is_recorded)
		stack_memory_note_far(slot, addr, n, stack_digest(words, n));
}

/*
 * Returns a code object's fingerprint, which differs from that of any other, even a later one at
 * the same address. Since 3.12, it is a hash of process, address, file and version (a serial
 * number). Before, the first line, the line table's address and the name's stored hash replace the
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
		if (bpf_probe_read_user(code + PYTHON_CODE_BEFORE,
					PYTHON_CODE_NAME - PYTHON_CODE_BEFORE,
					(void *)(code_at + PYTHON_CODE_BEFORE)))
			return PYTHON_NO_CODE;
		python_note_object(slot, w, code_at + PYTHON_CODE_BEFORE, code + PYTHON_CODE_BEFORE,
				   (PYTHON_CODE_NAME - PYTHON_CODE_BEFORE) / 8);
		fingerprint = runtime_mix(fingerprint, *(__u32 *)(code + PYTHON_CODE_VERSION));
	} else {
		if (bpf_probe_read_user(code + PYTHON_CODE_LINE,
					PYTHON_CODE_BYTES - PYTHON_CODE_LINE,
					(void *)(code_at + PYTHON_CODE_LINE)))
			return PYTHON_NO_CODE;
		python_read(hash, python_code(w, name) + PYTHON_STR_HASH);
		python_note_object(slot, w, code_at + PYTHON_CODE_COUNTS, code + PYTHON_CODE_COUNTS,
				   (PYTHON_CODE_BYTES - PYTHON_CODE_COUNTS) / 8);
		python_note_object(slot, w, python_code(w, name) + PYTHON_STR_HASH, &hash, 1);
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
	barrier_var(n);
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
	barrier_var(n);
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

#endif
