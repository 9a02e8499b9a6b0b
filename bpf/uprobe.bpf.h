/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What programs on uprobes share; probes/uprobes.h attaches them. Declared as SEC("uprobe").
 *
 *	SEC("uprobe") int both(struct pt_regs *ctx)	 // session
 *	{
 *		if (uprobe_is_return(ctx))
 *			return on_return(ctx);
 *		return on_entry(ctx);			 // 1: the return is not of interest
 *	}
 */
#ifndef UPROBE_BPF_H
#define UPROBE_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

/*
 * In a session: at the entry, ip is the probed instruction, at the return it is where the function
 * returns to; bpf_get_func_ip() is the probed instruction in both. The kernel has a kfunc for it,
 * but changed its arguments.
 */
static __always_inline bool uprobe_is_return(struct pt_regs *ctx)
{
	return PT_REGS_IP(ctx) != bpf_get_func_ip(ctx);
}

#if defined(__TARGET_ARCH_x86)
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
#endif

#endif
