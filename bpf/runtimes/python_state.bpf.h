/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Processes that run Python, code objects that were sent, and the state of a walk of Python frames.
 */
#ifndef PYTHON_STATE_BPF_H
#define PYTHON_STATE_BPF_H

#include "lib/compat.bpf.h"
#include "abi/python.h"

const volatile struct python_settings python_settings SEC(".rodata.python");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* the loader makes it as large as the machine needs */
	__type(key, __u32);
	__type(value, struct python_layout);
} python_processes SEC(".maps");

#define PYTHON_PROGRAMS 1024

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, PYTHON_PROGRAMS);
	__type(key, struct python_program);
	__type(value, __u32); /* enum python_program_kind */
} python_programs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} python_begins SEC(".maps");

/* The code objects that have been sent lately, by their fingerprints, in sets. */
#define PYTHON_SENT_SETS 4096
#define PYTHON_SENT_WAYS 4

struct python_sent_set {
	__u64 fingerprints[PYTHON_SENT_WAYS];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PYTHON_SENT_SETS);
	__type(key, __u32);
	__type(value, struct python_sent_set);
} python_sent SEC(".maps");

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

/* As many as there are slots for stacks. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct python_walk);
} python_walks SEC(".maps");

/* NULL: not wanted and the maps don't exist; the verifier then drops the rest as dead code. */
static __always_inline struct python_walk *python_walk_of(__u32 slot)
{
	return python_settings.wanted ? bpf_map_lookup_elem(&python_walks, &slot) : NULL;
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
	struct python_layout *layout;
	__u64 ends[2] = {}; /* the newest interpreter, and the main one */

	if (!w->layout.has_others && !w->has_new && w->number % PYTHON_SELDOM)
		return false;
	layout = bpf_map_lookup_elem(&python_processes, &tgid);
	if (!layout || !python_read(ends, w->layout.runtime + w->layout.lists.interpreters))
		return false;
	layout->has_others = ends[0] != ends[1];
	w->interpreter = ends[0];
	w->state = 0;
	return ends[0] != ends[1];
}

/* ---- processes ---- */

/* A child has its parent's layout and memory, but will make code objects of its own. */
static __always_inline void python_fork(__u32 parent, __u32 child)
{
	struct python_layout *layout, childs;

	if (!python_settings.wanted)
		return;
	layout = bpf_map_lookup_elem(&python_processes, &parent);
	if (!layout)
		return;
	childs = *layout;
	childs.serial = python_mix(bpf_ktime_get_ns(), child);
	bpf_map_update_elem(&python_processes, &child, &childs, BPF_ANY);
}

static __always_inline void python_exec(__u32 tgid)
{
	if (python_settings.wanted)
		bpf_map_delete_elem(&python_processes, &tgid);
}

/*
 * A script may exit before the loader looks at it, so the loader is woken up if the program may run
 * Python. If the ring is full, it has been woken up already.
 */
static __always_inline void python_tell(__u32 tgid, struct linux_binprm *bprm)
{
	struct python_begin begin = { .tgid = tgid };
	struct inode *inode;
	__u32 *kind;

	if (!python_settings.wanted)
		return;
	/* by a helper: reading through typed pointers takes the verifier 0.3 ms each */
	inode = BPF_CORE_READ(bprm, file, f_inode);
	begin.program.dev = BPF_CORE_READ(inode, i_sb, s_dev);
	begin.program.ino = BPF_CORE_READ(inode, i_ino);
	kind = bpf_map_lookup_elem(&python_programs, &begin.program);
	if (!kind || *kind != PYTHON_NEVER)
		bpf_ringbuf_output(&python_begins, &begin, sizeof(begin), 0);
}

#endif
