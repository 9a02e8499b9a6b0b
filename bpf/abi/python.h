/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Frames of CPython 3.8 to 3.15, with the GIL, shared by BPF and the loader.
 *
 * The loader finds a thread's state (PyThreadState) by a pointer at a fixed offset from the thread
 * pointer, or because the process has only one thread. The state leads to the innermost frame, and
 * each frame to its caller. One call of the function that evaluates bytecode runs several
 * consecutive frames, a segment, and keeps an object on its own C stack that marks the segment's
 * outer end: since 3.12 an entry frame, in 3.11 its struct _PyCFrame. The native frame whose stack
 * memory holds the marker runs the segment.
 *
 * A thread that runs functions of several interpreters has a state in each. They are walked one
 * after another, so that a stack may have outer segments before inner ones.
 *
 * Before 3.11 each call runs one frame, an object on the heap, and Python stores no link from the
 * call to the frame. But the function keeps the address of its frame's first variable (gcc), or of
 * the first one after the locals (clang), in its own stack frame, at a fixed distance from the
 * frame's end: this is the marker, and it identifies the Python frame that the call runs. The
 * distance is searched for once per process. Calls and frames must agree all the way, or the stack
 * gets no Python frames.
 */
#ifndef ABI_PYTHON_H
#define ABI_PYTHON_H

#include "abi/runtime.h"

#define PYTHON_FRAME_BYTES 80  /* bytes of struct _PyInterpreterFrame that hold all needed fields */
#define PYTHON_CODE_BYTES  144 /* bytes of PyCodeObject that hold all needed fields */

/* Capacity of texts, in bytes; powers of two. */
#define PYTHON_NAME_BYTES  128
#define PYTHON_FILE_BYTES  256
#define PYTHON_LINES_BYTES 2048

#define PYTHON_FILE_END_BYTES 252 /* longer paths are cut; a multiple of every character width */

/* Bytes read of a PyFrameObject before 3.11, and of a stack frame below its saved registers. */
#define PYTHON_OBJECT_BYTES 112
#define PYTHON_MARK_BYTES   512

/*
 * 3.11: owner value of a generator's struct _PyInterpreterFrame; distance in bytes from
 * PyGenObject's generator state up to that struct; state of a running generator.
 */
#define PYTHON_OWNER_WORD	  64 /* 3.11: bytes 4 and 5 of this word are is_entry and owner */
#define PYTHON_OWNED_BY_GENERATOR 1
#define PYTHON_GENERATOR_STATE	  5
#define PYTHON_GENERATOR_RUNS	  0

/* Offsets in PyObject, and in PyCodeObject since 3.11. */
#define PYTHON_TYPE	      8
#define PYTHON_VARIABLES      16 /* before 3.11: in PyFrameObject, number of its variables */
#define PYTHON_CODE_LOCALS    28 /* before 3.11: co_nlocals */
#define PYTHON_CODE_LINE      40 /* before 3.11: co_firstlineno, first fingerprinted byte */
#define PYTHON_CODE_COUNTS    72 /* 3.11: start of fields that never change, see BYTES */
#define PYTHON_CODE_BEFORE    88 /* since 3.12: likewise, up to PYTHON_CODE_NAME */
#define PYTHON_CODE_VERSION   92 /* since 3.12: co_version */
#define PYTHON_CODE_FILENAME  112
#define PYTHON_CODE_NAME      120
#define PYTHON_CODE_QUALNAME  128
#define PYTHON_CODE_LINETABLE 136

/* Offsets in bytes and str objects, unchanged since 3.3 (PEP 393). */
#define PYTHON_BYTES_LENGTH    16
#define PYTHON_BYTES_TEXT      32
#define PYTHON_STR_LENGTH      16
#define PYTHON_STR_HASH	       24
#define PYTHON_STR_KIND(state) ((state) >> 2 & 7) /* bytes per character, from the state word */
#define PYTHON_STR_ASCII       (1U << 6)

/* Offsets of links from interpreters to threads, which lead to all thread states of a process. */
struct python_lists {
	__u16 interpreters; /* in _PyRuntime: newest interpreter, followed by the main one */
	__u16 older;	    /* in an interpreter: next older interpreter */
	__u16 threads;	    /* in an interpreter: its first thread's state */
	__u16 next;	    /* in a thread's state: next thread's state */
};

/* Formats of a code object's line table. */
enum python_lines {
	PYTHON_LINES_LOCATIONS, /* co_linetable since 3.11; also for no table */
	PYTHON_LINES_RANGES,	/* co_linetable of 3.10 (PEP 626) */
	PYTHON_LINES_STEPS,	/* co_lnotab, before 3.10 */
};

/* Layout of a process's Python frames, as BPF needs it. */
struct python_layout {
	__u64 code_type;    /* address of PyCode_Type, the type of code objects */
	__u64 runtime;	    /* address of _PyRuntime */
	__u64 eval_begin;   /* before 3.11: the function that evaluates bytecode; else 0 */
	__s32 state_offset; /* offset of the state's pointer from the thread pointer; 0: unknown */
	__s32 self_offset;  /* offset of the value of pthread_self(), from the thread pointer */
	__u16 thread_id;    /* in the state: value of pthread_self() */
	__u16 top;	    /* in the state: the innermost frame, or struct _PyCFrame */
	__u8 has_cframe;    /* 3.11, 3.12: threads have struct _PyCFrame */
	__u8 has_versions;  /* since 3.12: code objects have co_version */
	__u8 ends_inside;   /* 3.11: a segment ends with the frame that has is_entry */
	__u8 cframe_frame;  /* in struct _PyCFrame: the frame, followed by the previous _PyCFrame */
	__u8 frame_code;    /* in struct _PyInterpreterFrame, like the next three */
	__u8 frame_previous;
	__u8 frame_instr;
	__u8 frame_owner;     /* 3.11: is_entry, and after it the owner */
	__u8 entry_owner;     /* owner values from this one on are entry frames; 3.11: 1 */
	__u8 code_first_line; /* in PyCodeObject: co_firstlineno */
	__u8 code_adaptive;   /* in PyCodeObject: start of the instructions */
	__u8 code_file;	      /* in PyCodeObject, like the next two: file, name and line table */
	__u8 code_name;
	__u8 code_lines;
	__u8 lines_kind; /* enum python_lines */
	__u8 str_ascii;	 /* in str objects: start of the characters */
	__u8 str_compact;
	/* fields down to eval_bytes: before 3.11. f_lasti counts units of 1 << instr_shift bytes */
	__u8 instr_shift;
	__u8 n_refused;	     /* consecutive stacks in which calls and frames disagreed */
	__u16 frame_locals;  /* in PyFrameObject: start of its variables */
	__u16 mark_distance; /* distance from the marker to the stack frame's end; 0: unknown */
	__u32 eval_bytes;
	struct python_lists lists;
	__u8 has_others; /* BPF has seen more than one interpreter */
};

/* A str object's text as stored in memory, cut to the available space. */
struct python_text {
	__u32 state;
	__u32 length; /* characters of the uncut string */
};

/* Definition of a Python frame's word: see struct runtime_def. */
struct python_def {
	struct runtime_def def;
	__u32 first_line;
	__u8 has_file;
	__u8 lines_kind; /* enum python_lines */
	__u16 n_lines;	 /* bytes of the line table; 0 if not wanted or too long */
	struct python_text name_text, file_text;
	__u8 name[PYTHON_NAME_BYTES];
	__u8 file[PYTHON_FILE_BYTES];	/* the file's path; if too long, its end */
	__u8 lines[PYTHON_LINES_BYTES]; /* co_linetable or co_lnotab */
};

#endif
