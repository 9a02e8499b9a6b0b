/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Helpers for uprobe programs, which are declared as SEC("uprobe") and attached by
 * probes/uprobes.h.
 *
 *	SEC("uprobe") int both(struct pt_regs *ctx)	 // session
 *	{
 *		if (uprobe_is_return(ctx))
 *			return on_return(ctx);
 *		return on_entry(ctx);			 // 1: don't trace the return
 *	}
 */
#ifndef UPROBE_BPF_H
#define UPROBE_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

/*
 * Returns true at the return, in a session: ip is the probed instruction at the entry, and the
 * return address at the return; bpf_get_func_ip() is the probed instruction at both. The kernel's
 * kfunc for this has changed its arguments.
 */
static __always_inline bool uprobe_is_return(struct pt_regs *ctx)
{
	return PT_REGS_IP(ctx) != bpf_get_func_ip(ctx);
}

#endif
