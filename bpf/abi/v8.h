/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Functions of V8 9.4 to 14.6 (Node.js 16 to 26) in native frames, shared by BPF and the loader.
 *
 * All of V8's code keeps frame pointers. The words below the saved one say what runs:
 *
 *	fp - 8   an even number: the frame's type, of an entry, exit or stub; else the context
 *	fp - 16  the function (JSFunction), if fp - 8 is a context
 *
 * A leaf that has not made its frame yet, or has none, runs in its caller's frame. In a frame that
 * is being made, words below the stack pointer are remains of earlier calls.
 *
 * JSFunction leads to SharedFunctionInfo, which has the name and the script. Objects are aligned,
 * pointers to them have the low bits 01, a small integer is the upper half of its word, and the
 * first word of an object is its map, which has its type. While the collector moves an object, the
 * first word is its new address, untagged. All objects may move, so a function is identified by the
 * thread, the script's id and the number of its literal in the script.
 */
#ifndef ABI_V8_H
#define ABI_V8_H

#include "abi/runtime.h"

#define V8_INLINE static inline __attribute__((always_inline))

V8_INLINE bool v8_is_object(__u64 word)
{
	return (word & 3) == 1;
}

/* Returns a small integer, whose lower half is 0. */
V8_INLINE __u32 v8_small(__u64 word)
{
	return word >> 32;
}

/* Capacity of texts, in bytes; powers of two. */
#define V8_NAME_BYTES 128
#define V8_FILE_BYTES 256

#define V8_FILE_END_BYTES 252 /* longer names of scripts are cut; a multiple of a character */

/* Offsets in objects that are the same in all versions. */
#define V8_MAP_TYPE	     12 /* u16 */
#define V8_SCRIPT_SOURCE     8
#define V8_SCRIPT_NAME	     16
#define V8_SCRIPT_LINE	     24 /* line of its file at which the script begins */
#define V8_SCRIPT_ID	     64
#define V8_DEBUG_INFO_SCRIPT 16
#define V8_STRING_LENGTH     12 /* u32 */
#define V8_STRING_FIRST	     16 /* characters, or the first part of a rope, or another string */
#define V8_STRING_SECOND     24 /* second part of a rope, offset of a slice, external characters */

/* Low bits of a string's type. */
#define V8_STRING_KIND	   7
#define V8_STRING_ONE_BYTE 8

/*
 * A word may follow a function's: with lines, the offset of the bytecode that the interpreter runs;
 * with this bit, the return address of a leaf that runs in its caller's frame.
 */
#define V8_IS_RETURN (1ULL << 59)

enum v8_string_kind {
	V8_STRING_FLAT,
	V8_STRING_ROPE,
	V8_STRING_EXTERNAL,
	V8_STRING_SLICED,
	V8_STRING_THIN = 5,
};

/* Layout of the objects of a version. Types are instance types, offsets from untagged addresses. */
struct v8_layout {
	__u16 type_function, last_function; /* range of functions' types */
	__u16 type_shared, type_scope, type_script;
	__u16 n_strings; /* lower types are strings */
	__u8 function_shared;
	__u8 shared_name, shared_script, shared_literal;
	__u8 scope_first;  /* in ScopeInfo: the first name of a variable */
	__u8 scope_begin;  /* in ScopeInfo: the function's position; 0: follows its names */
	__u8 scope_module; /* kind of scope that has a word for a module; 255: none */
	__u8 is_9;	   /* 9.x: all names are inline, and some scopes have a receiver's word */
};

/* A string in the traced program. */
struct v8_text {
	__u64 at;	/* address of the characters; is_rope: of the string, tagged */
	__u32 length;	/* characters; 0: no text */
	__u8 is_wide;	/* characters have two bytes */
	__u8 is_rope;	/* a rope, which the loader reads */
	__u16 n_copied; /* bytes in the definition */
};

/* Definition of a function's word: see struct runtime_def. */
struct v8_def {
	struct runtime_def def;
	__u64 owner;	      /* hash of process and thread */
	__u64 shared, script; /* SharedFunctionInfo and Script at the time of the read, tagged */
	__u32 script_id;      /* 0: no script */
	__u32 literal_id;
	__s32 begin; /* position in the script's source; -1: unknown */
	struct v8_text name_text, file_text;
	__u8 name[V8_NAME_BYTES];
	__u8 file[V8_FILE_BYTES]; /* the script's name; if too long, its end */
};

#endif
