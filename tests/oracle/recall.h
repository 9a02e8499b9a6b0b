/* SPDX-License-Identifier: GPL-2.0-only */
/* Counters of recall.bpf.c. */
#ifndef RECALL_H
#define RECALL_H

#include "abi/types.h"

struct recall_counts {
	__u64 equal, different;
	__u64 walked; /* what was not recalled */
	__u64 last_tgid, last_recalled, last_walked;
};

#endif
