/* SPDX-License-Identifier: GPL-2.0-only */
/* Samples that came to a program, wanted or not. */
#ifndef ABI_SAMPLED_H
#define ABI_SAMPLED_H

#include "abi/types.h"

#define SAMPLED_SUMS 4 /* number of words that are totalled over CPUs */

struct sampled {
	__u64 n;
	__u64 periods; /* total period of the samples, in ns or cycles */
	__u64 entries; /* those without a user stack, since the kernel was being entered */
	__s64 missed;  /* by the clock */

	/* State for the next sample that is due by the clock. */
	__u64 due_ns;  /* when the latest sample was due */
	__u64 idle_at; /* this CPU's idle task */
	__u64 n_idle;  /* switches to the idle task by then; ~0: it runs, or unknown */
};

#endif
