/* SPDX-License-Identifier: GPL-2.0-only */
/* Kernel addresses for which the kernel is asked to print the symbols. */
#ifndef ABI_KSYM_QUERY_H
#define ABI_KSYM_QUERY_H

#include "abi/types.h"

/*
 * The kernel limits the output per object to 32 KB (kernel/bpf/bpf_iter.c); a line takes up to 0.6
 * KB.
 */
#define KSYMS_AT_ONCE 32

struct ksym_query {
	__u64 addrs[KSYMS_AT_ONCE]; /* lines beyond those requested are left alone */
};

#endif
