/* SPDX-License-Identifier: GPL-2.0-only */
/* Counters of kernel_stacks.bpf.c. */
#ifndef KERNEL_STACKS_H
#define KERNEL_STACKS_H

#include "abi/kernel_rule.h"
#include "abi/stack.h"

#define KERNEL_STACKS_WORDS (STACK_KERNEL_BYTES / sizeof(__u64))

struct kernel_stacks_pair {
	__u64 n_ours, n_theirs;
	__u64 ours[KERNEL_STACKS_WORDS], theirs[KERNEL_STACKS_WORDS];
};

struct kernel_stacks_counts {
	__u64 equal, different;
	__u64 not_walked; /* here: the kernel's helper would be asked */
	__u64 refused;	  /* by the helper */
	struct kernel_stacks_pair last_different, last_not_walked;
};

#endif
