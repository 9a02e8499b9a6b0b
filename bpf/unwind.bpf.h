/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * User stacks of the current task along frame pointers. Whatever else can walk takes the place of
 * these functions.
 */
#ifndef UNWIND_BPF_H
#define UNWIND_BPF_H

#include "compat.bpf.h"
#include "stack.h"

#define UNWIND_WINDOW_WORDS   64
#define UNWIND_FIRST_PAGE_END 4096

/* Where stacks are taken: one per CPU, see stack.bpf.h. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct stack_def);
} stack_scratch SEC(".maps");

struct unwind_window {
	__u64 words[UNWIND_WINDOW_WORDS]; /* the top of the stack */
	__u64 frame[2];			  /* of one further down */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct unwind_window);
} unwind_windows SEC(".maps");

static __always_inline struct stack_def *stack_claim_scratch(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&stack_scratch, &zero);
}

/* The kernel's own walk. Writes return addresses, leaf first. Their number; 0: no user stack. */
static __always_inline __u32 unwind_user(void *ctx, __u64 words[STACK_DEPTH])
{
	long bytes = bpf_get_stack(ctx, words, STACK_DEPTH * sizeof(__u64), BPF_F_USER_STACK);

	return bytes > 0 ? bytes / sizeof(__u64) : 0;
}

/*
 * The two words at fp, the caller's fp and the return address, of which the window mostly holds a
 * copy: reading them from user memory costs as much as all of the window does. A read that fails
 * costs many times more, since it goes through a page fault, and most chains end with a small
 * number where libc has used the register for itself: no process has memory there.
 */
static __always_inline const __u64 *unwind_frame_at(struct unwind_window *window, __u64 sp,
						    __u64 fp)
{
	__u64 index = (fp - sp) / sizeof(__u64);

	if ((fp - sp) % sizeof(__u64) == 0 && index < UNWIND_WINDOW_WORDS - 1)
		return &window->words[index];
	if (fp < UNWIND_FIRST_PAGE_END ||
	    bpf_probe_read_user(window->frame, sizeof(window->frame), (void *)fp))
		return NULL;
	return window->frame;
}

/*
 * Walks from these registers into the scratch buffer. The number of addresses; 0 if the top of the
 * stack can't be read. Global, so that the verifier looks at its loop just once.
 */
__noinline __u32 unwind_walk(__u64 ip, __u64 sp, __u64 fp)
{
	struct stack_def *def = stack_claim_scratch();
	struct unwind_window *window;
	__u32 zero = 0, n = 1;
	const __u64 *frame;

	window = bpf_map_lookup_elem(&unwind_windows, &zero);
	if (!def || !window ||
	    bpf_probe_read_user(window->words, sizeof(window->words), (void *)sp))
		return 0;
	def->words[0] = ip;
	for (; n < STACK_DEPTH; n++) {
		frame = unwind_frame_at(window, sp, fp);
		if (!frame)
			break;
		fp = frame[0];
		def->words[n] = frame[1];
	}
	return n;
}

/*
 * The same walk, of a task that is being switched out and known as a typed argument, at a fraction
 * of the cost: the kernel's reads each word by itself, and up to the page fault at the end. What
 * isn't an ordinary 64-bit stack is left to the kernel (a 32-bit process has its stack below 4 GB),
 * as is everything before 5.15.
 */
static __always_inline __u32 unwind_user_typed(void *ctx, struct task_struct *task,
					       __u64 words[STACK_DEPTH])
{
#if defined(__TARGET_ARCH_x86)
	struct pt_regs *regs;
	__u32 n = 0;

	if (HAS_TASK_PT_REGS) {
		regs = (void *)bpf_task_pt_regs(task);
		if (regs->sp >> 32)
			n = unwind_walk(regs->ip, regs->sp, regs->bp);
	}
	return n ? n : unwind_user(ctx, words);
#else
	return unwind_user(ctx, words);
#endif
}

#endif
