/* SPDX-License-Identifier: GPL-2.0-only */
/* Blocks of the kernel, by its tracepoints. */
#ifndef LEAK_KERNEL_BPF_H
#define LEAK_KERNEL_BPF_H

#include "leak/leak_state.bpf.h"

static __noinline int kernel_alloc(const __u64 *ctx, __u64 addr, __u64 size, __u32 kind)
{
	struct block block = {};

	if (!addr || !is_wanted(own_tgid()))
		return 0;
	count_call(allocs);
	if (settings.trace)
		send_event(addr, size, kind, true);
	if (!is_sampled(addr) || !size_is_wanted(size))
		return 0;
	block.stack_id = stack_intern_kernel_current((void *)ctx);
	block.size_generation = block_pack(size, 0);
	block.time = block_time();
	keep_block(addr, &block);
	return 0;
}

/* A recorded block may be freed by any task; the filter is about the allocating one. */
static __always_inline int kernel_free(__u64 addr, __u32 kind)
{
	if (!addr || (!take_block(addr, 0, NULL) && !is_wanted(own_tgid())))
		return 0;
	count_call(frees);
	if (settings.trace)
		send_event(addr, 0, kind, true);
	return 0;
}

#define KERNEL_ALLOC(name, addr, size)                              \
	SEC("raw_tp/" #name)                                        \
	int memleak_##name(const __u64 *ctx)                        \
	{                                                           \
		return kernel_alloc(ctx, addr, size, ALLOC_MALLOC); \
	}

#define KERNEL_FREE(name, addr)                       \
	SEC("raw_tp/" #name)                          \
	int memleak_##name(const __u64 *ctx)          \
	{                                             \
		return kernel_free(addr, ALLOC_FREE); \
	}

KERNEL_ALLOC(kmalloc, raw_tp_arg(ctx, 1), kmem_bytes(ctx))
KERNEL_ALLOC(kmalloc_node, raw_tp_arg(ctx, 1), kmem_bytes(ctx))
KERNEL_ALLOC(kmem_cache_alloc, raw_tp_arg(ctx, 1), kmem_cache_bytes(ctx, settings.cache_is_given))
KERNEL_ALLOC(kmem_cache_alloc_node, raw_tp_arg(ctx, 1),
	     kmem_cache_bytes(ctx, settings.cache_is_given))
KERNEL_ALLOC(mm_page_alloc, raw_tp_arg(ctx, 0), settings.page_bytes << (raw_tp_arg(ctx, 1) & 63))
KERNEL_ALLOC(percpu_alloc_percpu, percpu_pointer(ctx), percpu_bytes(ctx))
KERNEL_FREE(kfree, raw_tp_arg(ctx, 1))
KERNEL_FREE(kmem_cache_free, raw_tp_arg(ctx, 1))
KERNEL_FREE(mm_page_free, raw_tp_arg(ctx, 0))
KERNEL_FREE(percpu_free_percpu, raw_tp_arg(ctx, 2))

#endif
