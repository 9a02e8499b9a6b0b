// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counts entries and returns of probed functions, and sums up their arguments and what they return,
 * so that two ways to probe the same calls can be compared. And programs that do nothing, to
 * measure what a probe costs by itself.
 */
#include "lib/uprobe.bpf.h"
#include "probes.h"

struct probes_count counts[PROBES_MAX] SEC(".data.counts");

static __always_inline struct probes_count *count_of(__u64 cookie)
{
	return &counts[cookie & (PROBES_MAX - 1)];
}

/* Returns the location of register n, as in struct probe_place: words from ctx. */
#if defined(__TARGET_ARCH_x86)
const volatile __u8 register_slots[] SEC(".rodata.slots") = { 10, 11, 12, 5, 19, 4, 13, 14,
							      9,  8,  7,  6, 3,	 2, 1,	0 };
#define REGISTER_SLOT(n) register_slots[(n)&15]
#else
#define REGISTER_SLOT(n) (n)
#endif

static __always_inline __u64 uprobe_register(struct pt_regs *ctx, __u32 n)
{
	__u64 value = 0;

	bpf_probe_read_kernel(&value, sizeof(value), (const __u64 *)ctx + REGISTER_SLOT(n));
	return value;
}

static __always_inline int count_entry(struct pt_regs *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx);
	struct probes_count *count = count_of(cookie);

	__sync_fetch_and_add(&count->entries, 1);
	for (int i = 0; i < PROBES_ARGS; i++)
		__sync_fetch_and_add(&count->arg_sums[i],
				     uprobe_register(ctx, cookie >> PROBES_ARG_SHIFT(i) &
								  PROBES_ARG_MASK));
	return !!(cookie & PROBES_NO_RETURN);
}

static __always_inline int count_return(struct pt_regs *ctx)
{
	struct probes_count *count = count_of(bpf_get_attach_cookie(ctx));

	__sync_fetch_and_add(&count->returns, 1);
	__sync_fetch_and_add(&count->return_sum, PT_REGS_RC(ctx));
	return 0;
}

SEC("uprobe")
int probes_session(struct pt_regs *ctx)
{
	return uprobe_is_return(ctx) ? count_return(ctx) : count_entry(ctx);
}

SEC("uprobe")
int probes_entry(struct pt_regs *ctx)
{
	return count_entry(ctx);
}

SEC("uprobe")
int probes_brief(struct pt_regs *ctx)
{
	__sync_fetch_and_add(&count_of(bpf_get_attach_cookie(ctx))->briefs, 1);
	count_entry(ctx);
	return 0;
}

SEC("uprobe")
int probes_ret(struct pt_regs *ctx)
{
	return count_return(ctx);
}

SEC("uprobe")
int nothing_session(struct pt_regs *ctx)
{
	return 0;
}

SEC("uprobe")
int nothing_entry(struct pt_regs *ctx)
{
	return 0;
}

SEC("uprobe")
int nothing_ret(struct pt_regs *ctx)
{
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
