/* SPDX-License-Identifier: GPL-2.0-only */
/* What could not be recorded, by reason; counted in the kernel, told by common/run/loss.c. */
#ifndef LOSS_H
#define LOSS_H

#include "abi/types.h"

enum loss_reason {
	LOSS_MAP_FULL,	/* no room for a new key */
	LOSS_RING_FULL, /* no room for an event's record */
	LOSS_NO_STATE,	/* a task without state: more threads than the table holds */
	LOSS_REASONS,
};

struct loss {
	__u64 events;
	__u64 value; /* their sum in the tool's unit, where there is one */
};

#endif
