/* SPDX-License-Identifier: GPL-2.0-only */
/* The state of a walk of Python frames, and where it begins. */
#ifndef PYTHON_STATE_BPF_H
#define PYTHON_STATE_BPF_H

#include "runtimes/runtime_state.bpf.h"
#include "abi/python.h"

#define PYTHON_KINDS (RUNTIME_BIT(RUNTIME_PYTHON) | RUNTIME_BIT(RUNTIME_PYTHON_OLD))

/*
 * The cost of a read hardly depends on its size. Frames lie on a stack that grows upwards, so a
 * read ends with a frame, and begins where its callers are likely to be.
 */
#define PYTHON_WINDOW_BYTES 512
#define PYTHON_WINDOW_BELOW (PYTHON_WINDOW_BYTES - PYTHON_FRAME_BYTES)
#define PYTHON_RECENT	    16

/* The code objects of this walk: its frames keep them from being freed. */
struct python_recent {
	__u64 walk, code, fingerprint;
};

struct python_walk {
	struct python_layout layout;
	__u64 serial;  /* id of the process */
	__u64 number;  /* of the walk; never 0 */
	__u64 frame;   /* the next one; 0: none */
	__u64 cframe;  /* 3.11: of the segment */
	__u64 code_at; /* code object of the current frame */
	__u64 instruction_at;
	bool has_not_begun; /* 3.11: the frame visited before this one has not run yet */
	bool is_full;	    /* a frame did not fit */
	bool has_new;	    /* set if a function was not sent before */
	__u32 segment;	    /* index of the segment's word; 0: no segment has begun */
	__u32 n_native;
	__u64 first_state, owner; /* the state that is walked first; its thread_id */
	__u64 interpreter, state; /* the next ones to look at; 0: none */
	__u32 n_looked;		  /* steps along the lists */
	__u64 window, window_end; /* range of addresses that is in the bytes below */
	__u64 innermost;	  /* before 3.11, from here on: the first frame */
	__u32 next_native;
	__u32 n_calls, n_placed; /* calls of the evaluating function; calls with a frame */
	bool skips_call, disagrees;
	struct python_recent recent[PYTHON_RECENT];
	__u8 bytes[PYTHON_WINDOW_BYTES + 128]; /* a frame's fields are below 128 */
	__u8 code[256];			       /* PYTHON_CODE_BYTES are read, likewise */
	struct python_def def;
};

_Static_assert(sizeof(struct python_walk) <= sizeof(struct runtime_walk), "larger than its space");

static __always_inline struct python_walk *python_walk_of(__u32 slot)
{
	return (struct python_walk *)runtime_walk_of(slot, PYTHON_KINDS);
}

/* ---- threads' states ---- */

#define PYTHON_SELDOM 8 /* one of N walks looks for a second interpreter */

#define python_read(dst, addr) (!bpf_probe_read_user(&(dst), sizeof(dst), (void *)(addr)))

/* Finds a state's innermost frame; 0: none, as reads that fail give 0. */
static __always_inline void python_enter(struct python_walk *w, __u64 state)
{
	w->has_not_begun = false;
	python_read(w->frame, state + w->layout.top);
	if (!w->layout.has_cframe)
		return;
	w->cframe = w->frame;
	python_read(w->frame, w->cframe + w->layout.cframe_frame);
}

/*
 * Looks for a second interpreter, which few processes have: only if a walk has seen one, if there
 * are new functions, or once in a while.
 */
static __always_inline bool python_has_others(struct python_walk *w, __u32 tgid)
{
	struct runtime_process *process;
	__u64 ends[2] = {}; /* the newest interpreter, and the main one */

	if (!w->layout.has_others && !w->has_new && w->number % PYTHON_SELDOM)
		return false;
	process = bpf_map_lookup_elem(&runtime_processes, &tgid);
	if (!process || !python_read(ends, w->layout.runtime + w->layout.lists.interpreters))
		return false;
	process->python.has_others = ends[0] != ends[1];
	w->interpreter = ends[0];
	w->state = 0;
	return ends[0] != ends[1];
}

#endif
