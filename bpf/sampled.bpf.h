/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How many samples came. Others were due: the kernel runs no program on a perf event while another
 * BPF program, or bpf(2) in a map, has the CPU (bpf_overflow_handler(), kernel/events/core.c), and
 * counts that nowhere; and a timer may be late. So the loader compares what samples stand for with
 * what the events have counted.
 */
#ifndef SAMPLED_BPF_H
#define SAMPLED_BPF_H

#include "compat.bpf.h"
#include "kernel_entry.bpf.h"
#include "stack.bpf.h"
#include "abi/sampled.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sampled);
} sampled SEC(".maps");

static __always_inline void sampled_note(const struct bpf_perf_event_data *ctx)
{
	__u32 zero = 0;
	struct sampled *all = bpf_map_lookup_elem(&sampled, &zero);

	if (!all)
		return;
	all->n++;
	all->periods += ctx->sample_period;
}

/* regs.cs, of which libbpf would read two bytes, as the field has: the context is read in words. */
#define CONTEXT_CS 17

/* 0 also where it can't be known. */
static __always_inline __u64 sampled_user_stack(struct bpf_perf_event_data *ctx)
{
#if defined(__TARGET_ARCH_x86)
	__u64 cs = ((const volatile __u64 *)ctx)[CONTEXT_CS];
	__u32 zero = 0;
	struct sampled *all = bpf_map_lookup_elem(&sampled, &zero);

	if (kernel_is_being_entered(cs, ctx->regs.sp, (__u64)current_user_registers(),
				    bpf_core_type_size(struct pt_regs))) {
		if (all)
			all->entries++;
		return 0;
	}
#endif
	return stack_intern_user(ctx);
}

#endif
