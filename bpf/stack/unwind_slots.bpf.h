/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Scratch memory for walks: the state of a walk is in a map, since it is too large for the stack
 * and global functions take no pointers before 5.12.
 */
#ifndef UNWIND_SLOTS_BPF_H
#define UNWIND_SLOTS_BPF_H

#include "lib/compat.bpf.h"
#include "lib/loss.bpf.h"
#include "abi/stack.h"
#include "abi/stack_memory.h"
#include "abi/unwind_layout.h"

/*
 * Scratch memory of a stack. Functions pass the slot's number around, since global ones take no
 * pointers. Programs that run with preemption off use the slot of their CPU. Where one of them may
 * interrupt another, which goes on when it is done, the object defines STACK_NESTED: each level has
 * a slot then. One that can be preempted, as uprobe programs can, defines STACK_PREEMPTIBLE and
 * claims one that is free; none of its functions may have 64 bytes of stack or more, which Linux
 * 7.2 overwrites. The loader makes the map as large as the machine.
 */
struct stack_scratch {
	__u64 is_claimed;
	__u64 leaf; /* function that has just returned to the walk's first frame; 0: none */
	struct unwind_state walk;
	struct unwind_returns returns;
	__u64 sps[STACK_DEPTH]; /* stack address at which each frame begins: for runtimes */
	__u64 highest_sp;	/* highest of sps; 0: no frame yet */
	__u64 fingerprints;	/* hash of the fingerprints of runtime functions in def.words */
	__u64 names;		/* id of the process's address meanings */
	bool lacks_definition;	/* a function, or the stack itself, could not be sent */
#ifdef STACK_RECURS
	struct stack_record record;
#endif
	union {
		struct stack_def def;
		struct unwind_thread thread; /* for a walk from outside */
	};
};

/* A CPU whose own slots are taken looks at those that follow; the last CPU has some, too. */
#ifdef STACK_PREEMPTIBLE
#define STACK_SLOT_TRIES 32
#else
#define STACK_SLOT_TRIES 3 /* nesting: an iterator, a tracepoint, a sample or another tracepoint */
#endif

/* Definitions on their way to the loader. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} stack_defs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, STACK_SLOT_TRIES); /* the loader adds the slots of the CPUs */
	__type(key, __u32);
	__type(value, struct stack_scratch);
} stack_scratch SEC(".maps");

/*
 * The context of uprobe programs is the registers with which the task entered the kernel. One that
 * defines this as 1 copies the first of them to the slot itself: that saves the calls which find
 * them.
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

/* Compare-and-exchange in BPF came with 5.12 (commit 5ffa25502b5a). */
static __always_inline bool stack_try_claim(struct stack_scratch *scratch)
{
	return !__sync_val_compare_and_swap(&scratch->is_claimed, 0, 1);
}
#elif defined(STACK_NESTED)

/* A program that interrupts between the check and the claim has released the slot by then. */
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
