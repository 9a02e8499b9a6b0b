/* SPDX-License-Identifier: GPL-2.0-only */
/* State of a walk of Python frames, and its beginning. */
#ifndef PYTHON_STATE_BPF_H
#define PYTHON_STATE_BPF_H

#include "runtimes/runtime_state.bpf.h"
#include "abi/python.h"

#define PYTHON_KINDS (RUNTIME_BIT(RUNTIME_PYTHON) | RUNTIME_BIT(RUNTIME_PYTHON_OLD))

/*
 * The cost of a read hardly depends on its size. Frames are on a stack that grows upwards, so a
 * read covers the frame and memory below it, where its callers are likely to be.
 */
#define PYTHON_WINDOW_BYTES 512
#define PYTHON_WINDOW_BELOW (PYTHON_WINDOW_BYTES - PYTHON_FRAME_BYTES)
#define PYTHON_RECENT	    16

/* A recent code object of this walk, whose frames keep it from being freed. */
struct python_recent {
	__u64 walk, code, fingerprint;
};

struct python_walk {
	struct python_layout layout;
	__u64 serial;  /* id of the process */
	__u64 number;  /* number of the walk; never 0 */
	__u64 frame;   /* next frame; 0: none */
	__u64 cframe;  /* 3.11: struct _PyCFrame of the segment */
	__u64 code_at; /* code object of the current frame */
	__u64 instruction_at;
	__u64 previous_at;  /* frame visited before this one; 0: none */
	bool has_not_begun; /* 3.11: the frame visited before this one has not run yet */
	bool is_full;	    /* a frame did not fit */
	bool has_new;	    /* a function was sent for the first time */
	bool is_recorded;   /* see stack_memory.bpf.h */
	__u32 segment;	    /* index of the segment's word; 0: no segment has begun */
	__u32 n_native;
	__u64 first_state, owner; /* state that is walked first, and its thread_id */
	__u64 interpreter, state; /* next ones to visit; 0: none */
	__u32 n_looked;		  /* steps along the lists */
	__u64 window, window_end; /* address range in bytes[] */
	/* only before 3.11, up to disagrees */
	__u64 innermost; /* first frame */
	__u32 next_native;
	__u32 n_calls, n_placed; /* evaluating calls; those with a frame */
	bool skips_call, disagrees;
	struct python_recent recent[PYTHON_RECENT];
	__u8 bytes[PYTHON_WINDOW_BYTES + 128]; /* offsets of fields are below 128 */
	__u8 code[256];			       /* PYTHON_CODE_BYTES of a code object */
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

/* Sets w->frame to a state's innermost frame; 0: none, or reading failed. */
static __always_inline void python_enter(struct python_walk *w, __u64 state)
{
	w->has_not_begun = false;
	w->previous_at = 0;
	python_read(w->frame, state + w->layout.top);
	if (!w->layout.has_cframe)
		return;
	w->cframe = w->frame;
	python_read(w->frame, w->cframe + w->layout.cframe_frame);
}

/*
 * Returns true if the process has a second interpreter, which is rare: searches for one only if a
 * walk has seen one, after new functions, or once in PYTHON_SELDOM walks.
 */
static __always_inline bool python_has_others(struct python_walk *w, __u32 tgid)
{
	struct runtime_process *process;
	__u64 ends[2] = {}; /* newest and main interpreter */

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
