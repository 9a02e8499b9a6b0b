/* SPDX-License-Identifier: GPL-2.0-only */
/* Samples that came to a program, wanted or not. */
#ifndef ABI_SAMPLED_H
#define ABI_SAMPLED_H

#include "abi/types.h"

struct sampled {
	__u64 n;
	__u64 periods; /* what they stand for: ns or cycles */
	__u64 entries; /* those without a user stack, since the kernel was being entered */
};

#endif
