/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel itself prints the symbols of a few addresses, as in a backtrace: an iterator goes over
 * the map that holds them. Reading /proc/kallsyms would make the kernel print 10^5 lines.
 */
#ifndef KSYMS_BPF_H
#define KSYMS_BPF_H

#include "abi/ksym_query.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, KSYMS_AT_ONCE);
	__type(key, __u32);
	__type(value, __u64);
} ksym_addrs SEC(".maps");

/* A line for each address that isn't 0. */
SEC("iter/bpf_map_elem")
int ksym_answer(struct bpf_iter__bpf_map_elem *ctx)
{
	static const char format[] = "%pB\n";
	__u64 *value = ctx->value, addr;

	if (!value)
		return 0;
	addr = *value;
	if (addr)
		bpf_seq_printf(ctx->meta->seq, format, sizeof(format), &addr, sizeof(addr));
	return 0;
}

#endif
