/* SPDX-License-Identifier: GPL-2.0-only */
/* Leaves frames of code that a runtime has made, as the native walk arrives there. */
#ifndef LEAVING_BPF_H
#define LEAVING_BPF_H

#include "runtimes/hotspot.bpf.h"

/* Moves to the caller. UNWIND_NO_RULE: other code, or code that is left by its frame pointer. */
static __always_inline int runtimes_leave(__u32 slot)
{
	if (RUNTIME_HAS(HOTSPOT_KINDS))
		return hotspot_step(slot);
	return UNWIND_NO_RULE;
}

#endif
