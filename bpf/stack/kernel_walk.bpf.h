/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Walks the kernel stack of a task that isn't running, from its switch-out: the frames of
 * bpf_get_task_stack(), for a fifth of its cost. The helper is the fallback without a rule: for
 * code of modules and BPF, interrupted kernel code, and kernels that have no ORC table or hide its
 * address.
 */
#ifndef KERNEL_WALK_BPF_H
#define KERNEL_WALK_BPF_H

#include "stack/stack.bpf.h"

#if KERNEL_HAS_ORC
#include "stack/kernel_tables.bpf.h"

#define KERNEL_WALK_FRAMES 4 /* frames per call of a global function, which is verified once */
#define KERNEL_WALK_CALLS  32

#define USER_MODE 3 /* low bits of cs */

/* State of a walk: return address, its caller's stack frame, location of the saved rbp. */
struct kernel_place {
	__u64 ip, sp, bp_at;
};

static __always_inline bool kernel_read(__u64 *word, __u64 addr)
{
	return !bpf_probe_read_kernel(word, sizeof(*word), (void *)addr);
}

/* Ends the walk at saved registers: complete if they were saved at an entry from user mode. */
static __always_inline int kernel_end_at_registers(__u64 regs_at)
{
	__u64 cs;

	return kernel_read(&cs, regs_at + offsetof(struct unwind_regs, cs)) &&
			       (cs & USER_MODE) == USER_MODE
		       ? UNWIND_COMPLETE
		       : UNWIND_NO_RULE;
}

/* Moves from a frame to its caller. Returns UNWIND_GOES_ON, or how the walk ended. */
static __always_inline int kernel_step(struct kernel_place *p, __u64 rule)
{
	__u64 frame = p->sp;

	if ((rule & KERNEL_RULE_KIND) == KERNEL_RULE_NONE)
		return UNWIND_NO_RULE;
	if ((rule & KERNEL_RULE_KIND) == KERNEL_RULE_END)
		return UNWIND_COMPLETE;
	if (rule & KERNEL_RULE_FROM_BP && !kernel_read(&frame, p->bp_at))
		return UNWIND_FAULT;
	frame += kernel_rule_sp_bytes(rule);
	if ((rule & KERNEL_RULE_KIND) == KERNEL_RULE_REGS)
		return kernel_end_at_registers(frame);
	if (frame <= p->sp)
		return UNWIND_NO_PROGRESS;
	if (!kernel_read(&p->ip, frame - sizeof(p->ip)))
		return UNWIND_FAULT;
	p->sp = frame;
	if (kernel_rule_bp_bytes(rule))
		p->bp_at = frame - kernel_rule_bp_bytes(rule);
	return UNWIND_GOES_ON;
}

/* Walks a chunk of frames into the slot. Returns UNWIND_GOES_ON, or how the walk ended. */
__noinline int kernel_walk_some(__u32 slot)
{
	struct stack_scratch *scratch = stack_scratch_of(slot);
	struct kernel_place p;
	int reason = UNWIND_GOES_ON;
	__u64 rule;
	__u32 n;

	if (!scratch)
		return UNWIND_FAULT;
	p = (struct kernel_place){ scratch->walk.ip, scratch->walk.sp, scratch->walk.bp };
	n = scratch->def.n_words & (STACK_WORDS - 1);
	for (int i = 0; i < KERNEL_WALK_FRAMES && !reason; i++) {
		rule = kernel_find_rule(p.ip);
		scratch->def.words[n] = p.ip;
		n = (n + kernel_rule_is_shown(rule)) & (STACK_WORDS - 1);
		reason = kernel_step(&p, rule);
	}
	scratch->walk.ip = p.ip;
	scratch->walk.sp = p.sp;
	scratch->walk.bp = p.bp_at;
	scratch->def.n_words = n;
	return reason;
}

/* Walks the stack into the slot. Returns false without a table, or if the walk was incomplete. */
__noinline int kernel_walk(__u32 slot, __u64 frame_at)
{
	struct stack_scratch *scratch = stack_scratch_of(slot);
	struct inactive_task_frame *frame = (void *)frame_at;
	int reason = UNWIND_GOES_ON;

	if (!scratch || !kernel_tables.n_rows)
		return false;
	scratch->def.n_words = 0;
	scratch->walk.sp = frame_at + bpf_core_type_size(struct inactive_task_frame);
	scratch->walk.bp = frame_at + bpf_core_field_offset(frame->bp);
	if (bpf_core_read(&scratch->walk.ip, sizeof(__u64), &frame->ret_addr) ||
	    !kernel_is_between(scratch->walk.ip, KERNEL_SCHED_TEXT, KERNEL_SCHED_TEXT_END))
		return false; /* a task that never ran */
	for (int i = 0; i < KERNEL_WALK_CALLS && !reason; i++)
		reason = kernel_walk_some(slot);
	return reason == UNWIND_COMPLETE;
}

static __always_inline bool kernel_walk_task(__u32 slot, struct task_struct *task)
{
	return kernel_walk(slot, TASK_READ(task, thread.sp));
}
#else
static __always_inline bool kernel_walk_task(__u32 slot, struct task_struct *task)
{
	return false;
}
#endif

/* Returns the id of an off-CPU task's kernel stack. is_next: it runs next on this CPU. */
static __always_inline __u64 stack_intern_kernel_of(struct task_struct *task, bool is_next)
{
	__u32 slot;
	struct stack_def *def = stack_begin_kernel(&slot);

	if (!def)
		return 0;
	if (!is_next || !kernel_walk_task(slot, task))
		stack_take_bytes(def, bpf_get_task_stack(task, def->words, STACK_KERNEL_BYTES, 0));
	return stack_end_kernel(slot);
}

#endif
