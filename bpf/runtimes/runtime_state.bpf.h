/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Processes with a managed runtime, a cache of sent function definitions, and space for the state
 * of a walk of their frames.
 */
#ifndef RUNTIME_STATE_BPF_H
#define RUNTIME_STATE_BPF_H

#include "lib/compat.bpf.h"
#include "lib/maps.bpf.h"
#include "stack/unwind_slots.bpf.h"
#include "abi/runtimes.h"

const volatile struct runtime_settings runtime_settings SEC(".rodata.runtimes");

/*
 * True if one of these kinds is walked. If none is, the code that walks them is dead for the
 * verifier.
 */
#define RUNTIME_HAS(bits) ((runtime_settings.kinds & (bits)) != 0)

MAP_HASH(runtime_processes, __u32, struct runtime_process, SET_BY_LOADER);

/* Returns the time at which a process's runtime was described; 0: it has none. */
static __always_inline __u64 runtime_since_ns(__u32 tgid)
{
	struct runtime_process *process = NULL;

	if (runtime_settings.watched)
		process = bpf_map_lookup_elem(&runtime_processes, &tgid);
	return process ? process->since_ns : 0;
}

#define RUNTIME_PROGRAMS 1024

/* Values: enum runtime_program_kind. */
MAP_LRU(runtime_programs, struct runtime_program, __u32, RUNTIME_PROGRAMS);

MAP_RINGBUF(runtime_begins, 4096);

/* State of a walk, in its runtime's layout; one per slot. */
struct runtime_walk {
	__u64 words[576];
};

MAP_ARRAY(runtime_walks, struct runtime_walk, 1);

static __always_inline struct runtime_walk *runtime_walk_of(__u32 slot, __u32 kinds)
{
	return RUNTIME_HAS(kinds) ? bpf_map_lookup_elem(&runtime_walks, &slot) : NULL;
}

/* Returns a number that no other thread ever has: the kernel reuses the ids of ended threads. */
static __always_inline __u64 runtime_thread(void)
{
	struct task_struct *task = current_task();
	__u64 start = HAS_TYPED_CURRENT ? task->start_time : BPF_CORE_READ(task, start_time);

	return runtime_mix(start, (__u32)bpf_get_current_pid_tgid());
}

/* ---- definitions ---- */

/* Set-associative cache of fingerprints of recently sent functions. */
#define RUNTIME_SENT_SETS 4096
#define RUNTIME_SENT_WAYS 4

struct runtime_sent_set {
	__u64 fingerprints[RUNTIME_SENT_WAYS];
};

MAP_ARRAY(runtime_sent, struct runtime_sent_set, RUNTIME_SENT_SETS);

static __always_inline struct runtime_sent_set *runtime_sent_set_of(__u64 fingerprint)
{
	__u32 n_set = (fingerprint >> 8) % RUNTIME_SENT_SETS;

	return bpf_map_lookup_elem(&runtime_sent, &n_set);
}

static __always_inline bool runtime_was_sent(__u64 fingerprint)
{
	struct runtime_sent_set *set = runtime_sent_set_of(fingerprint);

	for (int i = 0; set && i < RUNTIME_SENT_WAYS; i++)
		if (set->fingerprints[i] == fingerprint)
			return true;
	return false;
}

/*
 * Sends a definition of size bytes. If the ring buffer is full, the stack is not sent either, since
 * the loader would not know the word.
 */
static __always_inline void runtime_send(struct stack_scratch *scratch, struct runtime_def *def,
					 __u32 size, __u32 max)
{
	struct runtime_sent_set *set = runtime_sent_set_of(def->fingerprint);

	if (set && size <= max && !bpf_ringbuf_output(&stack_defs, def, size, 0))
		set->fingerprints[(def->fingerprint >> 4) % RUNTIME_SENT_WAYS] = def->fingerprint;
	else
		scratch->lacks_definition = true;
}

/* ---- words ---- */

/* Appends a word after the native ones. The caller has checked that it fits. */
static __always_inline void runtime_push(struct stack_scratch *scratch, __u64 word)
{
	__u32 n = scratch->def.n_words;

	barrier_var(n); /* preserves the mask */
	scratch->def.words[n & (STACK_WORDS - 1)] = word;
	scratch->def.n_words = n + 1;
}

/*
 * Functions that replace native frames, noted during the native walk: their words are in the upper
 * half of def.words, and move down after the walk (runtimes_walk()).
 */
static __always_inline void runtime_note_word(struct stack_scratch *scratch, __u64 word)
{
	__u64 n = scratch->n_noted;

	scratch->n_noted = n + 1;
	barrier_var(n);
	n &= STACK_DEPTH - 1;
	barrier_var(n); /* an addition: the verifier of 5.10 loses the bounds of an "or" */
	scratch->def.words[STACK_DEPTH + n] = word;
}

/*
 * Notes the function of a native frame, and with lines the position in it; negative: none. Frames
 * come in order. Functions beyond the space are dropped, and the stack counts as too deep.
 */
static __always_inline void runtime_note_function(struct stack_scratch *scratch, __u32 frame,
						  __u64 word, __s32 position)
{
	if (scratch->n_noted + 3 > STACK_DEPTH) {
		scratch->is_cut = true;
		return;
	}
	if (!scratch->n_noted || scratch->next_noted != frame)
		runtime_note_word(scratch, runtime_segment_word(frame) | RUNTIME_REPLACES);
	runtime_note_word(scratch, word);
	if (runtime_settings.lines && position >= 0)
		runtime_note_word(scratch, position);
	scratch->next_noted = frame + 1;
}

/* Appends a chunk of the noted words to the native ones. */
__noinline int runtime_push_noted(__u32 slot, __u32 first)
{
	struct stack_scratch *scratch = stack_scratch_of(slot);

	if (!RUNTIME_HAS(RUNTIME_ON_STACK) || !scratch || first > STACK_DEPTH - STACK_CHUNK)
		return 0;
	for (__u32 i = 0; i < STACK_CHUNK && first + i < scratch->n_noted; i++)
		runtime_push(scratch, scratch->def.words[STACK_DEPTH + first + i]);
	return 0;
}

/* ---- processes ---- */

/*
 * Copies a parent's layout to its child, with a new serial, since their functions differ from now
 * on. Rules are not copied: the loader removes the parent's when it exits.
 */
static __always_inline void runtimes_fork(__u32 parent, __u32 child)
{
	struct runtime_process *process, childs;

	if (!runtime_settings.watched)
		return;
	process = bpf_map_lookup_elem(&runtime_processes, &parent);
	if (!process)
		return;
	childs = *process;
	childs.serial = runtime_mix(bpf_ktime_get_ns(), child);
	childs.rules.n_pages = 0;
	bpf_map_update_elem(&runtime_processes, &child, &childs, BPF_ANY);
}

static __always_inline void runtimes_exec(__u32 tgid)
{
	if (runtime_settings.watched)
		bpf_map_delete_elem(&runtime_processes, &tgid);
}

/*
 * Wakes up the loader if the program may have a runtime, since a script may exit soon. A full ring
 * buffer means that the loader was woken up already.
 */
static __always_inline void runtimes_tell(__u32 tgid, struct linux_binprm *bprm)
{
	struct runtime_begin begin = { .tgid = tgid };
	struct inode *inode;
	__u32 *kind;

	if (!runtime_settings.watched)
		return;
	/* by a helper: each read through a typed pointer takes the verifier 0.3 ms */
	inode = BPF_CORE_READ(bprm, file, f_inode);
	begin.program.dev = BPF_CORE_READ(inode, i_sb, s_dev);
	begin.program.ino = BPF_CORE_READ(inode, i_ino);
	kind = bpf_map_lookup_elem(&runtime_programs, &begin.program);
	if (!kind || *kind != RUNTIME_NEVER)
		bpf_ringbuf_output(&runtime_begins, &begin, sizeof(begin), 0);
}

#endif
