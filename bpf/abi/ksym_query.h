/* SPDX-License-Identifier: GPL-2.0-only */
/* Kernel addresses for which the kernel is asked to print the symbols. */
#ifndef ABI_KSYM_QUERY_H
#define ABI_KSYM_QUERY_H

#include "abi/types.h"

/* The output for one object has 32 KB at most (kernel/bpf/bpf_iter.c), a line 0.6 KB. */
#define KSYMS_AT_ONCE 32

struct ksym_query {
	__u64 addrs[KSYMS_AT_ONCE]; /* lines beyond those asked for are left alone */
};

#endif
