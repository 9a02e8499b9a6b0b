/* SPDX-License-Identifier: GPL-2.0-only */
/* Counts losses: events that could not be recorded. */
#ifndef LOSS_BPF_H
#define LOSS_BPF_H

#include "lib/compat.bpf.h"
#include "abi/loss_counters.h"

struct loss losses[LOSS_REASONS] SEC(".data.losses") = {};

static __always_inline void loss_count(enum loss_reason reason, __u64 value)
{
	__sync_fetch_and_add(&losses[reason].events, 1);
	if (value) /* clang turns an addition of 0 into an atomic or, which 5.10 lacks */
		__sync_fetch_and_add(&losses[reason].value, value);
}

#endif
