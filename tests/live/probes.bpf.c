// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counts entries and returns of probed functions, and sums up their arguments and what they return,
 * so that two ways to probe the same calls can be compared. And programs that do nothing, to
 * measure what a probe costs by itself.
 */
#include "uprobe.bpf.h"
#include "probes.h"

struct probes_count counts[PROBES_MAX] SEC(".data.counts");

static __always_inline struct probes_count *count_of(__u64 cookie)
{
	return &counts[cookie & (PROBES_MAX - 1)];
}

/*
 * The register of that number, as in struct probe_place. Written so that the compiler can't make it
 * an access at an offset that is only known at run time, which the verifier refuses in a context.
 */
#define UPROBE_IF_REGISTER(number, field)       \
	if (n == (number)) {                    \
		__u64 value = ctx->field;       \
		asm volatile("" : "+r"(value)); \
		return value;                   \
	}

static __always_inline __u64 uprobe_register(struct pt_regs *ctx, __u32 n)
{
	UPROBE_IF_REGISTER(7, di);
	UPROBE_IF_REGISTER(6, si);
	UPROBE_IF_REGISTER(2, dx);
	UPROBE_IF_REGISTER(1, cx);
	UPROBE_IF_REGISTER(8, r8);
	UPROBE_IF_REGISTER(9, r9);
	UPROBE_IF_REGISTER(0, ax);
	UPROBE_IF_REGISTER(3, bx);
	UPROBE_IF_REGISTER(5, bp);
	UPROBE_IF_REGISTER(10, r10);
	UPROBE_IF_REGISTER(11, r11);
	UPROBE_IF_REGISTER(12, r12);
	UPROBE_IF_REGISTER(13, r13);
	UPROBE_IF_REGISTER(14, r14);
	UPROBE_IF_REGISTER(15, r15);
	return 0;
}

static __always_inline int count_entry(struct pt_regs *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx);
	struct probes_count *count = count_of(cookie);

	__sync_fetch_and_add(&count->entries, 1);
	for (int i = 0; i < PROBES_ARGS; i++)
		__sync_fetch_and_add(&count->arg_sums[i],
				     uprobe_register(ctx, cookie >> PROBES_ARG_SHIFT(i) & 15));
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
