/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * memleak's state: live blocks, and each thread's outermost call of a function that
 * allocates. Uprobe programs can be preempted: see STACK_PREEMPTIBLE in unwind_slots.bpf.h.
 */
#ifndef LEAK_STATE_BPF_H
#define LEAK_STATE_BPF_H

#define STACK_PREEMPTIBLE
#define STACK_RECURS
#define UNWIND_BEGINS_AT_CONTEXT 1
#include "stack/stack.bpf.h"
#include "abi/block.h"
#include "abi/memleak.h"

#define MAX_NESTED	64 /* a call with more nested calls has never returned */
#define SIZE_OVERFLOWED (~0ULL)

const volatile struct memleak_settings settings SEC(".rodata.memleak") = {
	.max_bytes = ~0ULL,
	.sample = 1,
};

/* The loader makes it as large as requested. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct block_bucket);
} blocks SEC(".maps");

static __always_inline struct block_bucket *blocks_bucket(__u64 index)
{
	__u32 key = index;

	return bpf_map_lookup_elem(&blocks, &key);
}

static __always_inline __u64 blocks_mask(void)
{
	return settings.bucket_mask;
}

#include "abi/block_table.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct memleak_counts);
} memleak_counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4 << 20);
} memleak_events SEC(".maps");

/* Number of execs of a process: blocks from before the last one are gone. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, __u32);
} memleak_generations SEC(".maps");

/* Number of the open window; 0: none. Only with settings.by_windows. */
__u32 memleak_window SEC(".data.window") = 0;

/* A thread's outermost call of a function that allocates. */
struct task_state {
	__u64 sp; /* stack pointer at its entry; 0: no call */
	__u64 ip;
	__u64 size;
	__u64 out_addr;	 /* posix_memalign: where the result goes */
	__u64 old_addr;	 /* realloc: recorded block it may free, 0: none; mappings: address given */
	__u64 old_bytes; /* mremap */
	__u64 began_ns;	 /* mremap */
	__u32 kind;	 /* enum alloc_kind */
	__u32 change;	 /* enum memleak_change, of mappings */
	__u32 n_nested;
	__u32 window; /* in which it began */
	bool keeps;   /* records its result; else it only frees */
	struct block old;
};

#include "sched/task_state.bpf.h"

/* States are made by calls. */
static void task_visit(struct bpf_iter__task *ctx, struct task_struct *task,
		       struct task_state *state)
{
}

/* ---- shared by the programs for user space and for the kernel ---- */

#define count_call(counter)                                                                    \
	do {                                                                                   \
		__u32 zero_ = 0;                                                               \
		struct memleak_counts *counts_ = bpf_map_lookup_elem(&memleak_counts, &zero_); \
                                                                                               \
		if (counts_)                                                                   \
			__sync_fetch_and_add(&counts_->counter, 1);                            \
	} while (0)

__noinline __u32 own_tgid(void)
{
	return task_tgid(bpf_get_current_task_btf());
}

__noinline __u32 own_tid(void)
{
	return task_tid(bpf_get_current_task_btf());
}

/* Returns the current tgid; the search in pid namespaces has a function of its own. */
static __always_inline __u32 tgid_of_current(struct task_struct *task)
{
	return filter.pidns_inum ? own_tgid() : TASK_READ(task, tgid);
}

/* Not inlined: its stack use doesn't add to the caller's. */
__noinline int current_is_wanted(void)
{
	return filter_task(bpf_get_current_task_btf());
}

/* In most runs the process alone decides. */
static __always_inline bool is_wanted(__u32 tgid)
{
	if (tgid == filter.self_tgid || !filter_tgid(tgid))
		return false;
	return !filter_has(~FILTER_OF_PROCESS) || current_is_wanted();
}

__noinline int send_event(__u64 addr, __u64 size, __u32 kind, __u32 in_kernel)
{
	struct memleak_event *event;

	if (!settings.trace)
		return 0;
	event = bpf_ringbuf_reserve(&memleak_events, sizeof(*event), 0);
	if (!event) {
		loss_count(LOSS_RING_FULL, 0);
		return 0;
	}
	event->time_ns = bpf_ktime_get_ns();
	event->addr = addr;
	event->size = size;
	event->tgid = own_tgid();
	event->tid = own_tid();
	event->kind = kind;
	event->in_kernel = in_kernel;
	bpf_get_current_comm(event->comm, sizeof(event->comm));
	bpf_ringbuf_submit(event, 0);
	return 0;
}

static __always_inline bool is_sampled(__u64 addr)
{
	return blocks_are_sampled(addr, settings.sample);
}

static __always_inline bool size_is_wanted(__u64 size)
{
	return size >= settings.min_bytes && size <= settings.max_bytes;
}

/* When the first block of a tick was made, in the bits below the tick's number. */
__u64 block_tick SEC(".data.block_tick") = 0;

/* The clock is a call, and an expensive one on some machines; the number of ticks is a load. */
static __always_inline __u32 block_time(void)
{
	__u32 tick = bpf_jiffies64();
	__u64 known = *(volatile __u64 *)&block_tick;

	if (known >> 32 != tick) {
		known = (__u64)tick << 32 | (__u32)(bpf_ktime_get_ns() >> BLOCK_TIME_SHIFT);
		*(volatile __u64 *)&block_tick = known;
	}
	return known;
}

static __always_inline void keep_block(__u64 addr, const struct block *block)
{
	if (!blocks_add(addr, block->stack_id, block->size_generation, block->tgid_time))
		loss_count(LOSS_MAP_FULL, block_size(block));
}

/* Takes a block out, into *out unless that is NULL. False if it isn't recorded. */
static __always_inline bool take_block(__u64 addr, __u32 tgid, struct block *out)
{
	__u64 place = is_sampled(addr) ? blocks_find(addr, tgid) : 0;
	struct block_bucket *b;

	if (!place)
		return false;
	b = blocks_bucket((place - 1) / BLOCK_WAYS);
	if (b && out)
		*out = b->blocks[(place - 1) % BLOCK_WAYS];
	return blocks_remove(place, addr);
}

#endif
