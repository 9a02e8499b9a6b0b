/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * User stacks of the current task: the kernel's own walk along frame pointers. Whatever else can
 * walk takes the place of this function.
 */
#ifndef UNWIND_BPF_H
#define UNWIND_BPF_H

#include "compat.bpf.h"
#include "stack.h"

/* Writes return addresses, leaf first. Their number; 0 where there is no user stack. */
static __always_inline __u32 unwind_user(void *ctx, __u64 words[STACK_DEPTH])
{
	long bytes = bpf_get_stack(ctx, words, STACK_DEPTH * sizeof(__u64), BPF_F_USER_STACK);

	return bytes > 0 ? bytes / sizeof(__u64) : 0;
}

#endif
