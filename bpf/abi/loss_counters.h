/* SPDX-License-Identifier: GPL-2.0-only */
/* Losses by reason: counted in the kernel, reported by run/loss.c. */
#ifndef ABI_LOSS_COUNTERS_H
#define ABI_LOSS_COUNTERS_H

#include "abi/types.h"

enum loss_reason {
	LOSS_MAP_FULL,	/* map full: no space for a new key */
	LOSS_RING_FULL, /* ring buffer full */
	LOSS_NO_STATE,	/* no memory for a new thread's state when it was forked */
	LOSS_NO_CALL,	/* no memory for the state of a thread that makes a call */
	LOSS_NO_ROOM,	/* --follow: no space for another process */
	LOSS_NO_SWITCH, /* the kernel did not report that a thread got its CPU */
	LOSS_NO_SLOT,	/* no free slot to build a stack in */
	LOSS_REASONS,
};

struct loss {
	__u64 events;
	__u64 value; /* total of the lost values in the tool's unit, if it has one */
};

#endif
