/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Prints the kernel symbols of a few addresses, in the format of a backtrace, through an iterator's
 * file. Reading /proc/kallsyms would make the kernel print 10^5 lines.
 */
#ifndef KSYMS_BPF_H
#define KSYMS_BPF_H

#include "lib/compat.bpf.h"
#include "abi/ksym_query.h"
#include "lib/maps.bpf.h"

MAP_SHARED_ARRAY(ksym_queries, struct ksym_query, 1);

/*
 * Prints a line for each address. The iterated object doesn't matter: all lines are printed with
 * the first task. (An iterator of the map itself may write into it, which some kernels refuse.)
 */
SEC("iter/task")
int ksym_answer(struct bpf_iter__task *ctx)
{
	static const char format[] = "%pB\n";
	struct seq_file *seq;
	struct ksym_query *query;
	__u32 zero = 0;

	if (!ctx->task || ctx->meta->seq_num)
		return 0;
	query = bpf_map_lookup_elem(&ksym_queries, &zero);
	if (!query)
		return 0;
	seq = ctx->meta->seq; /* read once: each read costs the verifier 40 us */
	for (__u32 i = 0; i < KSYMS_AT_ONCE; i++)
		bpf_seq_printf(seq, format, sizeof(format), &query->addrs[i],
			       sizeof(query->addrs[i]));
	return 0;
}

#endif
