/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Identifies and defines the function of one of V8's frames: the same code in the kernel
 * (runtimes/v8.bpf.h) and in the loader (common/runtimes/v8/walk.c). The includer must define
 *
 *	static bool v8_read(const struct v8_walk *w, void *dst, __u32 size, __u64 addr);
 *
 * which reads the walked task's memory. What it contains is hostile: every object is checked by
 * its map, no chain is longer than a constant, and every index is masked.
 */
#ifndef ABI_V8_WALK_H
#define ABI_V8_WALK_H

#include "abi/arm64_insn.h"
#include "abi/unwind_regs.h"
#include "abi/v8.h"

#define V8_RECENT      32
#define V8_SCRIPTS     8
#define V8_MAPS	       4
#define V8_WORDS       16
#define V8_TEXT_STEPS  4
#define V8_NO_SCRIPT   0
#define V8_MAX_LOCALS  0xffff
#define V8_FRAME_BYTES 32 /* distance from the function's slot to the caller's stack */
#define V8_SLOTS       5  /* number of slots from the bytecode's offset to the context */
#define V8_BELOW       3  /* slots below the function's: fp - 40 has the bytecode's offset */

#define V8_FUNCTION_BYTES 40 /* bytes of each object that hold all needed fields */
#define V8_SHARED_BYTES	  64
#define V8_SCOPE_BYTES	  40
#define V8_SCRIPT_BYTES	  72

#define V8_NOTED (1ULL << 63) /* bit in a value of maps[] or scripts[]: object is recorded */

/*
 * A value cached by an object's address (key), valid in one walk: until its end, the frames keep
 * the object from being freed.
 */
struct v8_recent {
	__u64 walk, key, value;
};

struct v8_walk {
	struct v8_layout layout;
	__u64 process;	  /* serial of the process that the maps below belong to */
	__u64 owner;	  /* hash of process and thread */
	__u64 shared_map; /* maps of SharedFunctionInfo and Script, which never move; 0: unknown */
	__u64 script_map;
	__u64 number; /* number of the walk; never 0 */
	struct v8_recent functions[V8_RECENT], scripts[V8_SCRIPTS], maps[V8_MAPS];
	__u64 words[V8_WORDS]; /* object that was read last */
	__u64 shared[V8_WORDS], shared_at, fingerprint;
	__u64 script_at; /* 0: the function has none */
	__u32 script_id;
	bool is_text_found;
	__u32 n_skipped; /* characters of the string that precede the text */
	struct v8_text text;
	struct v8_def def;
};

V8_INLINE __u64 v8_word(const __u64 *words, __u32 offset)
{
	return words[offset >> 3 & (V8_WORDS - 1)];
}

/*
 * Reads an object's first words, from its new location if it is being moved: sets *object to that.
 */
V8_INLINE bool v8_read_object(const struct v8_walk *w, __u64 *words, __u32 size, __u64 *object)
{
	if (!v8_is_object(*object) || !v8_read(w, words, size, *object - 1))
		return false;
	if (words[0] & 1)
		return true;
	*object = words[0] + 1;
	return !(words[0] & 7) && v8_read(w, words, size, words[0]) && words[0] & 1;
}

/* Returns the instance type in a map; 0xffff: unreadable (not a type). */
V8_INLINE __u16 v8_type(const struct v8_walk *w, __u64 map)
{
	__u16 type;

	return v8_is_object(map) && v8_read(w, &type, sizeof(type), map - 1 + V8_MAP_TYPE) ? type
											   : 0xffff;
}

/* ---- identity ---- */

V8_INLINE struct v8_recent *v8_recent_map(struct v8_walk *w, __u64 map)
{
	return &w->maps[map >> 4 & (V8_MAPS - 1)];
}

V8_INLINE bool v8_is_function(struct v8_walk *w, __u64 map)
{
	struct v8_recent *recent = v8_recent_map(w, map);
	__u16 type;

	if (recent->walk == w->number && recent->key == map)
		return true;
	type = v8_type(w, map);
	if (type < w->layout.type_function || type > w->layout.last_function)
		return false;
	recent->walk = w->number;
	recent->key = map;
	recent->value = 0;
	return true;
}

V8_INLINE bool v8_is_shared(struct v8_walk *w, __u64 map)
{
	if (map == w->shared_map)
		return true;
	if (v8_type(w, map) != w->layout.type_shared)
		return false;
	w->shared_map = map;
	return true;
}

V8_INLINE bool v8_is_script(struct v8_walk *w, __u64 map)
{
	if (map == w->script_map)
		return true;
	if (v8_type(w, map) != w->layout.type_script)
		return false;
	w->script_map = map;
	return true;
}

/* Reads a function's script, which a DebugInfo may precede, into w->words. False: it has none. */
V8_INLINE bool v8_read_script(struct v8_walk *w, __u64 script)
{
	if (!v8_read_object(w, w->words, V8_SCRIPT_BYTES, &script))
		return false;
	if (!v8_is_script(w, w->words[0])) {
		script = v8_word(w->words, V8_DEBUG_INFO_SCRIPT);
		if (!v8_read_object(w, w->words, V8_SCRIPT_BYTES, &script) ||
		    !v8_is_script(w, w->words[0]))
			return false;
	}
	w->script_at = script;
	w->script_id = v8_small(v8_word(w->words, V8_SCRIPT_ID));
	return true;
}

V8_INLINE struct v8_recent *v8_recent_script(struct v8_walk *w, __u64 script)
{
	return &w->scripts[script >> 4 & (V8_SCRIPTS - 1)];
}

/* Sets w->script_id to the id of the script of the function in w->shared; cached if possible. */
V8_INLINE void v8_find_script(struct v8_walk *w)
{
	__u64 script = v8_word(w->shared, w->layout.shared_script);
	struct v8_recent *recent = v8_recent_script(w, script);

	if (recent->walk == w->number && recent->key == script) {
		w->script_id = (__u32)recent->value;
		return;
	}
	if (!v8_read_script(w, script))
		w->script_id = V8_NO_SCRIPT;
	recent = v8_recent_script(w, script);
	recent->walk = w->number;
	recent->key = script;
	recent->value = w->script_id;
}

V8_INLINE __u32 v8_literal(const struct v8_walk *w)
{
	return v8_word(w->shared, w->layout.shared_literal) >>
	       (w->layout.shared_literal & 4 ? 32 : 0);
}

/* Returns the fingerprint of the function that w->shared describes; never 0. */
V8_INLINE __u64 v8_fingerprint(struct v8_walk *w)
{
	__u64 hash;

	v8_find_script(w);
	if (w->script_id != V8_NO_SCRIPT) {
		hash = runtime_mix(w->owner, (__u64)w->script_id << 32 | v8_literal(w));
	} else { /* one of V8's own functions */
		hash = runtime_mix(w->owner, w->shared[1]);
		hash = runtime_mix(hash, v8_word(w->shared, w->layout.shared_name));
	}
	w->fingerprint = hash * 0xbf58476d1ce4e5b9ULL | 1;
	return w->fingerprint;
}

/* Reads the SharedFunctionInfo of a function. False: not a function. */
V8_INLINE bool v8_read_shared(struct v8_walk *w, __u64 function)
{
	if (!v8_read_object(w, w->words, V8_FUNCTION_BYTES, &function) ||
	    !v8_is_function(w, w->words[0]))
		return false;
	w->shared_at = v8_word(w->words, w->layout.function_shared);
	return v8_read_object(w, w->shared, V8_SHARED_BYTES, &w->shared_at) &&
	       v8_is_shared(w, w->shared[0]);
}

/* Returns a function's word, which stays the same when its objects move. */
V8_INLINE __u64 v8_function_word(__u64 fingerprint)
{
	return runtime_word(fingerprint | 16, fingerprint);
}

/* Returns the bytecode's offset from the slot in which the interpreter stores it; 0: none. */
V8_INLINE __u64 v8_offset(__u64 slot)
{
	return (__u32)slot ? 0 : v8_small(slot);
}

/* ---- leaves ---- */

/*
 * Returns true if a call precedes an address (on x86-64: Intel SDM, volume 2).
 */
V8_INLINE bool v8_follows_call(struct v8_walk *w, __u64 address)
{
	__u8 *code = (__u8 *)w->words;
	__u32 last;

	if (address < 8 || address >> 48 || !v8_read(w, code, 8, address - 8))
		return false;
	last = w->words[0] >> 32;
	if (UNWIND_IS_ARM64)
		return arm64_is_call(last);
	return code[3] == 0xe8 || (code[6] == 0xff && (code[7] & 0xf8) == 0xd0) ||
	       (code[5] == 0xff && (code[6] & 0xf8) == 0x50) ||
	       (code[2] == 0xff && (code[3] & 0xf8) == 0x90);
}

/*
 * Returns the return address of a leaf that runs in its caller's frame: on arm64 in x30, else on
 * top of the stack, or below the frame pointer that it has just pushed. Another leaf may have any
 * words there: the loader checks where the address leads. Marked by V8_IS_RETURN; 0: none.
 */
V8_INLINE __u64 v8_return_of_leaf(struct v8_walk *w, __u64 sp, __u64 link)
{
	__u64 top, next;

	if (UNWIND_IS_ARM64)
		return v8_follows_call(w, link) ? link | V8_IS_RETURN : 0;
	if (!v8_read(w, w->words, 16, sp))
		return 0;
	top = w->words[0];
	next = w->words[1];
	if (v8_follows_call(w, top))
		return top | V8_IS_RETURN;
	return v8_follows_call(w, next) ? next | V8_IS_RETURN : 0;
}

/* ---- texts ---- */

/*
 * Moves one step towards the characters of a string, w->text.at, which is read to w->words.
 * Returns true if there is another step to take.
 */
V8_INLINE bool v8_step_text(struct v8_walk *w)
{
	struct v8_text *text = &w->text;
	__u64 string = text->at, second;
	__u32 length = 1; /* length of a rope's second part: 0 if the rope was flattened */
	__u16 type;

	if (!v8_read_object(w, w->words, 32, &string)) {
		text->length = 0;
		return false;
	}
	type = v8_type(w, w->words[0]);
	if (type >= w->layout.n_strings) {
		text->length = 0;
		return false;
	}
	if (!text->length)
		text->length = v8_small(w->words[1]);
	text->is_wide = !(type & V8_STRING_ONE_BYTE);
	text->at = v8_word(w->words, V8_STRING_FIRST);
	second = v8_word(w->words, V8_STRING_SECOND);
	switch (type & V8_STRING_KIND) {
	case V8_STRING_FLAT:
		text->at = string - 1 + V8_STRING_FIRST;
		w->is_text_found = true;
		return false;
	case V8_STRING_EXTERNAL:
		text->at = second;
		w->is_text_found = true;
		return false;
	case V8_STRING_SLICED:
		w->n_skipped += v8_small(second);
		return true;
	case V8_STRING_THIN:
		return true;
	case V8_STRING_ROPE:
		if (!v8_read(w, &length, sizeof(length), second - 1 + V8_STRING_LENGTH) || length)
			text->is_rope = true;
		text->at = length ? string : text->at;
		w->is_text_found = length;
		return !length;
	default:
		text->length = 0;
		return false;
	}
}

/* Reads the beginning of a text, or its end. The string may have any length. */
V8_INLINE bool v8_copy_text(const struct v8_walk *w, struct v8_text *text, __u8 *bytes, __u32 size,
			    __u32 max, bool wants_end)
{
	__u64 n = (__u64)text->length << text->is_wide, skip = 0;
	__u32 n_read;

	text->n_copied = 0;
	if (text->is_rope || !n)
		return true;
	if (n > max) {
		skip = wants_end ? n - max : 0;
		n = max;
	}
	n_read = (__u32)n;
	barrier_var(n_read);
	n_read &= size - 1;
	if (!v8_read(w, bytes, n_read, text->at + skip))
		return false;
	text->n_copied = n_read;
	return true;
}

/* ---- names ---- */

/*
 * Flags of a ScopeInfo: bits 0-3 kind, 7-8 where the receiver is, 10 has a class's variable, 12-13
 * has a name, 14 has an inferred name. Before 12.9 they are a small integer.
 */
V8_INLINE __u32 v8_scope_flags(__u64 word)
{
	return (__u32)word ? (__u32)word : v8_small(word);
}

#define V8_SCOPE_HAS_NAME(flags)     ((flags) >> 12 & 3)
#define V8_SCOPE_HAS_INFERRED(flags) ((flags) >> 14 & 1)

/* Returns the offset of the names in a ScopeInfo with n variables. */
V8_INLINE __u32 v8_scope_names(const struct v8_layout *l, __u32 flags, __u32 n)
{
	__u32 at = l->scope_first + ((l->is_9 || n < 75 ? n : 1) + n) * 8;

	if ((flags & 15) == l->scope_module)
		at += 8;
	if (flags >> 10 & 1)
		at += 8;
	if (l->is_9 && ((flags >> 7 & 3) == 1 || (flags >> 7 & 3) == 2))
		at += 8;
	return at;
}

/*
 * Reads the names of the ScopeInfo at `scope`, whose first words are in w->words, to w->words: the
 * name with its index, and the inferred name, if present; then the position, if it is not among the
 * first words. Sets w->def.begin. Returns the flags; 0: unreadable.
 */
V8_INLINE __u32 v8_read_scope(struct v8_walk *w, __u64 scope)
{
	__u32 flags = v8_scope_flags(w->words[1]), n = v8_small(w->words[3]);
	__u64 at;

	if (w->layout.scope_begin)
		w->def.begin = v8_small(v8_word(w->words, w->layout.scope_begin));
	if (n > V8_MAX_LOCALS ||
	    !v8_read(w, w->words, 40, scope - 1 + v8_scope_names(&w->layout, flags, n)))
		return 0;
	at = (V8_SCOPE_HAS_NAME(flags) ? 2 : 0) + V8_SCOPE_HAS_INFERRED(flags);
	barrier_var(at); /* preserves the mask */
	if (!w->layout.scope_begin)
		w->def.begin = v8_small(w->words[at & 3]);
	return flags;
}

/* Begins a text with the string in word at. */
V8_INLINE void v8_begin_text(struct v8_walk *w, __u64 string)
{
	w->text = (struct v8_text){ .at = string };
	w->is_text_found = false;
	w->n_skipped = 0;
}

/* Drops a text whose chain of strings is too long. */
V8_INLINE void v8_end_text(struct v8_walk *w)
{
	if (!w->is_text_found)
		w->text.length = 0;
	if (!w->text.is_rope)
		w->text.at += (__u64)w->n_skipped << w->text.is_wide;
}

/* Begins the definition of the function whose fingerprint was computed last. */
V8_INLINE void v8_begin_definition(struct v8_walk *w, __u32 tgid)
{
	struct v8_def *def = &w->def;

	def->def.word = v8_function_word(w->fingerprint);
	def->def.fingerprint = w->fingerprint;
	def->def.tgid = tgid;
	def->owner = w->owner;
	def->shared = w->shared_at;
	def->script = 0;
	def->script_id = w->script_id;
	def->literal_id = v8_literal(w);
	def->begin = -1;
}

/* Returns the string with the name of the function in w->shared; 0: it has none. */
V8_INLINE __u64 v8_find_name(struct v8_walk *w)
{
	__u64 name = v8_word(w->shared, w->layout.shared_name), inferred;
	__u32 flags, length;
	__u16 type;

	if (!v8_read_object(w, w->words, V8_SCOPE_BYTES, &name))
		return 0;
	type = v8_type(w, w->words[0]);
	if (type < w->layout.n_strings)
		return name;
	if (type != w->layout.type_scope)
		return 0;
	flags = v8_read_scope(w, name);
	name = V8_SCOPE_HAS_NAME(flags) ? w->words[0] : 0;
	inferred = V8_SCOPE_HAS_NAME(flags) ? w->words[2] : w->words[0];
	if (v8_is_object(name) &&
	    v8_read(w, &length, sizeof(length), name - 1 + V8_STRING_LENGTH) && length)
		return name;
	return V8_SCOPE_HAS_INFERRED(flags) ? inferred : 0;
}

V8_INLINE void v8_end_name(struct v8_walk *w)
{
	w->def.name_text = w->text;
	if (!v8_copy_text(w, &w->def.name_text, w->def.name, V8_NAME_BYTES, V8_NAME_BYTES - 1,
			  false))
		w->def.name_text.length = 0;
}

/* Returns the string with the name of the function's script, and sets def.script; 0: none. */
V8_INLINE __u64 v8_find_file(struct v8_walk *w)
{
	if (w->script_id == V8_NO_SCRIPT ||
	    !v8_read_script(w, v8_word(w->shared, w->layout.shared_script)))
		return 0;
	w->def.script = w->script_at;
	return v8_word(w->words, V8_SCRIPT_NAME);
}

V8_INLINE void v8_end_file(struct v8_walk *w)
{
	w->def.file_text = w->text;
	if (!v8_copy_text(w, &w->def.file_text, w->def.file, V8_FILE_BYTES, V8_FILE_END_BYTES,
			  true))
		w->def.file_text.length = 0;
}

#endif
