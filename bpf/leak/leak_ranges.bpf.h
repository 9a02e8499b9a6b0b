/* SPDX-License-Identifier: GPL-2.0-only */
/* Changes of mappings, which the loader keeps as ranges. */
#ifndef LEAK_RANGES_BPF_H
#define LEAK_RANGES_BPF_H

#include "leak/leak_state.bpf.h"

#define PROT_NONE 0
#define MAP_STACK 0x20000 /* value is the same on x86 and arm64 */
#define DONTUNMAP 4	  /* mremap() */

/* In their order. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 2 << 20);
} memleak_ranges SEC(".maps");

static __always_inline __u64 whole_pages(__u64 bytes)
{
	return (bytes + settings.page_bytes - 1) & -settings.page_bytes;
}

static __always_inline bool is_mapping(__u32 kind)
{
	return kind >= ALLOC_MMAP;
}

/* Stacks of threads, and address space that is only reserved, are not leaks. */
static __always_inline __u32 change_of(struct pt_regs *ctx, __u32 kind)
{
	bool has_access = (__u32)PT_REGS_PARM3(ctx) != PROT_NONE;

	if (kind == ALLOC_MREMAP)
		return RANGE_MOVED;
	if (kind == ALLOC_MPROTECT)
		return has_access ? RANGE_OPENED : RANGE_CLOSED;
	if (PT_REGS_PARM4(ctx) & MAP_STACK)
		return RANGE_GONE;
	return has_access ? RANGE_HELD : RANGE_RESERVED;
}

/* False: nothing is held after the call that wasn't before. */
static __always_inline bool mapping_begin(struct pt_regs *ctx, struct task_state *call, __u32 kind)
{
	call->change = change_of(ctx, kind);
	call->old_addr = PT_REGS_PARM1(ctx);
	if (kind == ALLOC_MREMAP) {
		call->old_bytes =
			PT_REGS_PARM4(ctx) & DONTUNMAP ? 0 : whole_pages(PT_REGS_PARM2(ctx));
		call->began_ns = bpf_ktime_get_ns();
	}
	return call->change == RANGE_HELD || call->change == RANGE_OPENED ||
	       call->change == RANGE_MOVED;
}

static __noinline int send_range(const struct task_state *call, __u64 addr, bool keeps)
{
	struct memleak_range *range = bpf_ringbuf_reserve(&memleak_ranges, sizeof(*range), 0);

	if (!range) {
		loss_count(LOSS_RING_FULL, 0);
		return 0;
	}
	range->addr = addr;
	range->bytes = call->size;
	range->old_addr = call->old_addr;
	range->old_bytes = call->old_bytes;
	range->began_ns = call->began_ns;
	range->time_ns = bpf_ktime_get_ns();
	range->block = call->old;
	range->change = call->change;
	range->keeps = keeps;
	bpf_ringbuf_submit(range, 0);
	return 0;
}

/*
 * Runs before the kernel can hand the addresses to another thread. The kernel refuses unaligned
 * ones.
 */
static __always_inline void send_unmapped(__u64 addr, __u64 bytes, __u32 tgid)
{
	struct memleak_range *range;

	if (addr & (settings.page_bytes - 1))
		return;
	range = bpf_ringbuf_reserve(&memleak_ranges, sizeof(*range), 0);
	if (!range) {
		loss_count(LOSS_RING_FULL, 0);
		return;
	}
	range->addr = addr;
	range->bytes = whole_pages(bytes);
	range->old_addr = range->old_bytes = 0;
	range->began_ns = range->time_ns = 0;
	range->block = (struct block){ .tgid = tgid };
	range->change = RANGE_GONE;
	range->keeps = false;
	bpf_ringbuf_submit(range, 0);
}

#endif
