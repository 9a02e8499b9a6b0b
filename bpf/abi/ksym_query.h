/* SPDX-License-Identifier: GPL-2.0-only */
/* Kernel addresses whose symbols a BPF iterator prints. */
#ifndef ABI_KSYM_QUERY_H
#define ABI_KSYM_QUERY_H

#include "abi/types.h"

/* The kernel limits the output per object to 32 KB (kernel/bpf/bpf_iter.c); a line: 0.6 KB. */
#define KSYMS_AT_ONCE 32

struct ksym_query {
	__u64 addrs[KSYMS_AT_ONCE]; /* entries after the requested ones are unused */
};

#endif
