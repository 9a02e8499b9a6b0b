/* SPDX-License-Identifier: GPL-2.0-only */
/* Samples delivered to a BPF program, wanted or not. */
#ifndef ABI_SAMPLED_H
#define ABI_SAMPLED_H

#include "abi/types.h"

#define SAMPLED_SUMS 4 /* number of leading words that are totalled over CPUs */

struct sampled {
	__u64 n;
	__u64 periods; /* total period of the samples, in ns or cycles */
	__u64 entries; /* samples taken while the kernel was being entered: without a user stack */
	__s64 missed;  /* samples missed, by the clock */

	/* State for detecting missed samples. */
	__u64 due_ns;  /* time at which the latest sample was due */
	__u64 idle_at; /* address of this CPU's idle task */
	__u64 n_idle;  /* switches to the idle task by due_ns; ~0: it is running, or unknown */
};

#endif
