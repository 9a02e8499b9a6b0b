/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Includes abi/unwind_walk.h for walks from outside of the process, which record nothing. The
 * includer defines unwind_read() first.
 */
#ifndef WALK_OUTSIDE_H
#define WALK_OUTSIDE_H

#include "abi/unwind_layout.h"

__attribute__((unused)) static __u64 unwind_thread_base(struct unwind_state *s)
{
	return s->regs.thread_base;
}

static void unwind_note(struct unwind_state *s, __u64 addr, __u64 word)
{
	(void)s;
	(void)addr;
	(void)word;
}

__attribute__((unused)) static __u64 unwind_address_mask(void)
{
	return unwind_address_bits();
}

#include "abi/unwind_walk.h"

#endif
