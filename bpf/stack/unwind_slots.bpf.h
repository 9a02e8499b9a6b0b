/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Scratch memory for walks, in a map: a walk's state is too large for the BPF stack, and global
 * functions take no pointers before 5.12.
 */
#ifndef UNWIND_SLOTS_BPF_H
#define UNWIND_SLOTS_BPF_H

#include "lib/compat.bpf.h"
#include "lib/loss.bpf.h"
#include "abi/stack.h"
#include "abi/stack_memory.h"
#include "abi/unwind_layout.h"
#include "lib/maps.bpf.h"

/*
 * A slot: scratch memory of a stack. Functions pass the slot's number. Programs that run with
 * preemption off use the slot of their CPU. If they may interrupt each other, the object defines
 * STACK_NESTED: each nesting level has a slot. If they can be preempted, like uprobe programs, the
 * object defines STACK_PREEMPTIBLE: they claim a free slot, and none of their functions may use 64
 * bytes of stack or more, which Linux 7.2 overwrites. The loader sets max_entries.
 */
struct stack_scratch {
	__u64 is_claimed;
	__u64 leaf; /* function that has just returned to the walk's first frame; 0: none */
	struct unwind_state walk;
	struct unwind_returns returns;
	__u64 sps[STACK_DEPTH];	    /* stack address at which each frame begins: for runtimes */
	__u32 framed[STACK_CHUNKS]; /* bits: frames left along frame pointers, without a rule */
	__u64 highest_sp;	    /* highest address in sps; 0: no frame yet */
	__u64 fingerprints;	    /* hash of the fingerprints of runtime functions in def.words */
	__u64 names;		    /* identifies the meaning of the process's addresses */
	__u32 n_noted;	       /* words in the upper half of def.words: runtime_note_function() */
	__u32 next_noted;      /* native frame that continues their last segment */
	bool is_cut;	       /* words of a runtime did not fit */
	bool lacks_definition; /* a function, or the stack itself, could not be sent */
#ifdef STACK_RECURS
	struct stack_record record;
#endif
	union {
		struct stack_def def;
		struct unwind_thread thread; /* for a walk by the loader */
	};
};

/* Slots to try, if a CPU's own are taken: the following ones, some after the last CPU's. */
#ifdef STACK_PREEMPTIBLE
#define STACK_SLOT_TRIES 32
#else
#define STACK_SLOT_TRIES 3 /* nesting: an iterator, a tracepoint, a sample or another tracepoint */
#endif

/* Definitions sent to the loader. */
MAP_RINGBUF(stack_defs, 1 << 20);

/* The loader adds the slots of the CPUs. */
MAP_ARRAY(stack_scratch, struct stack_scratch, STACK_SLOT_TRIES);

/*
 * 1: the program copies the initial registers to the slot itself. A uprobe program's context has
 * the registers with which the task entered the kernel, so this saves helper calls.
 */
#ifndef UNWIND_BEGINS_AT_CONTEXT
#define UNWIND_BEGINS_AT_CONTEXT 0
#endif

#define STACK_NO_SLOT ~0U

static __always_inline struct stack_scratch *stack_scratch_of(__u32 slot)
{
	return bpf_map_lookup_elem(&stack_scratch, &slot);
}

#if defined(STACK_PREEMPTIBLE) || defined(STACK_NESTED)
#define STACK_LEVELS STACK_CPU_SLOTS
#else
#define STACK_LEVELS 1
#endif

#if defined(STACK_PREEMPTIBLE)

/* BPF has compare-and-exchange since 5.12 (commit 5ffa25502b5a). */
static __always_inline bool stack_try_claim(struct stack_scratch *scratch)
{
	return !__sync_val_compare_and_swap(&scratch->is_claimed, 0, 1);
}
#elif defined(STACK_NESTED)

/* Claims without atomics: a program that interrupts this one releases the slot before it ends. */
static __always_inline bool stack_try_claim(struct stack_scratch *scratch)
{
	if (scratch->is_claimed)
		return false;
	scratch->is_claimed = 1;
	return true;
}
#endif

#if STACK_LEVELS > 1
/* Claims one of the slots that follow a used one. */
__noinline __u32 stack_claim_next(__u32 slot)
{
	struct stack_scratch *scratch;

	for (int i = 1; i < STACK_SLOT_TRIES; i++) {
		scratch = stack_scratch_of(slot + i);
		if (scratch && stack_try_claim(scratch))
			return slot + i;
	}
	loss_count(LOSS_NO_SLOT, 0);
	return STACK_NO_SLOT;
}

static __always_inline __u32 stack_claim_slot(void)
{
	__u32 slot = bpf_get_smp_processor_id() * STACK_LEVELS;
	struct stack_scratch *scratch = stack_scratch_of(slot);

	return scratch && stack_try_claim(scratch) ? slot : stack_claim_next(slot);
}

static __always_inline void stack_release_slot(__u32 slot)
{
	struct stack_scratch *scratch = stack_scratch_of(slot);

	if (scratch)
		scratch->is_claimed = 0;
}
#else
static __always_inline __u32 stack_claim_slot(void)
{
	return bpf_get_smp_processor_id();
}

static __always_inline void stack_release_slot(__u32 slot)
{
}
#endif

#endif
