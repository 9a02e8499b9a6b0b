/* SPDX-License-Identifier: GPL-2.0-only */
/* Samples that came to a program, wanted or not. */
#ifndef ABI_SAMPLED_H
#define ABI_SAMPLED_H

#include "abi/types.h"

#define SAMPLED_SUMS 4 /* of its words, that are sums over CPUs */

struct sampled {
	__u64 n;
	__u64 periods; /* what they stand for: ns or cycles */
	__u64 entries; /* those without a user stack, since the kernel was being entered */
	__s64 missed;  /* by the clock */

	/* For the next one, by the clock. */
	__u64 due_ns;  /* when the last one was due */
	__u64 idle_at; /* this CPU's idle task */
	__u64 n_idle;  /* how often that had run by then; ~0: it runs, or isn't known */
};

#endif
