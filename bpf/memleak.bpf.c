// SPDX-License-Identifier: GPL-2.0-only
/*
 * Live blocks: a block is recorded from the return of the allocating function to the entry of the
 * freeing one, with its size, time and allocation stack.
 *
 * A block is added after the real allocation and removed before the real free, while no other
 * caller can get the same address. Allocating functions call each other, and a nested allocation
 * belongs to the outermost call: each thread records its outermost call, identified by the stack
 * pointer at entry.
 *
 * Uprobe programs can be preempted: see STACK_PREEMPTIBLE in unwind_slots.bpf.h.
 */
#define STACK_PREEMPTIBLE
#define STACK_RECURS
#define UNWIND_BEGINS_AT_CONTEXT 1
#include "lib/maps.bpf.h"
#include "stack/stack.bpf.h"
#include "abi/block.h"
#include "abi/memleak.h"
#include "lib/uprobe.bpf.h"

#define MAX_NESTED	64 /* maximum nested calls: beyond, the outer one never returned */
#define SIZE_OVERFLOWED (~0ULL)
#define PROT_NONE	0
#define MAP_STACK	0x20000 /* same value on x86 and arm64 */
#define DONTUNMAP	4	/* mremap() flag */

const volatile struct memleak_settings settings SEC(".rodata.memleak") = {
	.max_bytes = ~0ULL,
	.sample = 1,
};

/* Table of live blocks. */
MAP_SHARED_ARRAY(blocks, struct block_bucket, SET_BY_LOADER);

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

MAP_PERCPU_ARRAY(memleak_counts, struct memleak_counts, 1);

MAP_RINGBUF(memleak_events, 4 << 20);

/* Exec count of a process: blocks of earlier counts are gone. */
MAP_LRU(memleak_generations, __u32, __u32, 16384);

/* Processes that have ended. */
MAP_LRU(memleak_ended, __u32, struct memleak_ended, 16384);

/* Number of the open window; 0: none. Only with settings.by_windows. */
__u32 memleak_window SEC(".data.window") = 0;

/* A thread's outermost call of an allocating function. */
struct task_state {
	__u64 sp; /* stack pointer at the call's entry; 0: no call */
	__u64 ip;
	__u64 size;
	__u64 out_addr;	 /* posix_memalign: address of the result */
	__u64 old_addr;	 /* realloc: recorded block to be freed, 0: none; mappings: argument */
	__u64 old_bytes; /* mremap: bytes of the old range */
	__u64 began_ns;	 /* mremap: start of the call */
	__u32 kind;	 /* enum alloc_kind */
	__u32 change;	 /* enum memleak_change; mappings only */
	__u32 n_nested;
	__u32 window; /* window in which the call began */
	bool keeps;   /* the result is recorded; false: only the free is */
	struct block old;
};

#include "sched/task_state.bpf.h"

/* Does nothing: states are created by calls. */
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

/* Returns the current tgid. own_tgid(), which searches pid namespaces, is a separate function. */
static __always_inline __u32 tgid_of_current(struct task_struct *task)
{
	return filter.pidns_inum ? own_tgid() : TASK_READ(task, tgid);
}

/* Runs the whole filter. Not inlined: its stack use must not add to the caller's. */
__noinline int current_is_wanted(void)
{
	return filter_task(bpf_get_current_task_btf());
}

/* Returns true if the current task is traced. In most runs the test of the process suffices. */
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

/* Latest tick (upper 32 bits), and the time of its first block (lower 32 bits). */
__u64 block_tick SEC(".data.block_tick") = 0;

/* Returns the current tick's time: reading ticks is a load, reading the clock an expensive call. */
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

/* Removes a block, copying it to *out unless NULL. Returns false if it isn't recorded. */
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

/* ---- changes of mappings, which the loader tracks as ranges ---- */

/* Changes of mappings, in order. */
MAP_RINGBUF(memleak_ranges, 2 << 20);

static __always_inline __u64 whole_pages(__u64 bytes)
{
	return (bytes + settings.page_bytes - 1) & -settings.page_bytes;
}

static __always_inline bool is_mapping(__u32 kind)
{
	return kind >= ALLOC_MMAP;
}

/* Classifies a call. Thread stacks and reserved address space are not leaks. */
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

/* Records the call's arguments. Returns false if the call can't increase the held memory. */
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

/* Returns a record to submit, with all other fields 0; NULL: ring buffer full. */
static __always_inline struct memleak_range *range_begin(__u64 addr, __u64 bytes, __u32 change)
{
	struct memleak_range *range = bpf_ringbuf_reserve(&memleak_ranges, sizeof(*range), 0);

	if (!range) {
		loss_count(LOSS_RING_FULL, 0);
		return NULL;
	}
	*range = (struct memleak_range){ .addr = addr, .bytes = bytes, .change = change };
	return range;
}

static __noinline int send_range(const struct task_state *call, __u64 addr, bool keeps)
{
	struct memleak_range *range = range_begin(addr, call->size, call->change);

	if (!range)
		return 0;
	range->old_addr = call->old_addr;
	range->old_bytes = call->old_bytes;
	range->began_ns = call->began_ns;
	range->time_ns = bpf_ktime_get_ns();
	range->block = call->old;
	range->keeps = keeps;
	bpf_ringbuf_submit(range, 0);
	return 0;
}

/* Returns true for ranges that munmap() rejects: unaligned, or beyond the end of user space. */
static __always_inline bool unmap_is_refused(__u64 addr, __u64 bytes)
{
	__u64 end = BPF_CORE_READ(current_mm(), task_size);

	return addr & (settings.page_bytes - 1) || addr > end || bytes > end - addr;
}

/* Sends RANGE_GONE before the kernel can give the addresses to another thread. */
static __always_inline void send_unmapped(__u64 addr, __u64 bytes, __u32 tgid)
{
	struct memleak_range *range;

	if (unmap_is_refused(addr, bytes))
		return;
	range = range_begin(addr, whole_pages(bytes), RANGE_GONE);
	if (!range)
		return;
	range->block.tgid = tgid;
	bpf_ringbuf_submit(range, 0);
}

/* ---- user space: entries ---- */

/* Returns n * size, or SIZE_OVERFLOWED if that is 2^63 or more. */
static __always_inline __u64 multiply(__u64 n, __u64 size)
{
	__u64 high = (n >> 32) * (__u32)size + (size >> 32) * (__u32)n;

	if ((n >> 32 && size >> 32) || high >> 31)
		return SIZE_OVERFLOWED;
	return n * size;
}

/* Returns the requested number of bytes. */
static __always_inline __u64 requested_size(struct pt_regs *ctx, __u32 kind)
{
	switch (kind) {
	case ALLOC_CALLOC:
		return multiply(PT_REGS_PARM1(ctx), PT_REGS_PARM2(ctx));
	case ALLOC_REALLOC:
	case ALLOC_MEMALIGN:
		return PT_REGS_PARM2(ctx);
	case ALLOC_REALLOCARRAY:
		return multiply(PT_REGS_PARM2(ctx), PT_REGS_PARM3(ctx));
	case ALLOC_POSIX_MEMALIGN:
		return PT_REGS_PARM3(ctx);
	case ALLOC_MMAP:
	case ALLOC_MPROTECT:
		return whole_pages(PT_REGS_PARM2(ctx));
	case ALLOC_MREMAP:
		return whole_pages(PT_REGS_PARM3(ctx));
	case ALLOC_PVALLOC:
		return whole_pages(PT_REGS_PARM1(ctx));
	default:
		return PT_REGS_PARM1(ctx);
	}
}

/* Returns true if the call may throw: an exception through a probed return ends the program. */
static __always_inline bool may_throw(struct pt_regs *ctx, __u32 kind)
{
	return kind == ALLOC_NEW && PT_REGS_PARM1(ctx) > settings.max_new_bytes;
}

/*
 * Returns true for a nested call: its stack pointer is lower. Same sp: a tail call, or the outer
 * call never returned. Calls that began in an earlier window don't count, since their returns
 * aren't probed.
 */
static __always_inline bool call_is_nested(struct task_state *call, __u64 sp, __u64 ip,
					   __u32 window)
{
	if (!call->sp || sp > call->sp || (sp == call->sp && ip == call->ip))
		return false;
	if (settings.by_windows && call->window != window)
		return false;
	return ++call->n_nested < MAX_NESTED;
}

static __always_inline __u32 current_window(void)
{
	return settings.by_windows ? *(volatile __u32 *)&memleak_window : 0;
}

/* Returns true if the call may free a recorded block, even if its result is not recorded. */
static __always_inline bool takes_back(__u32 kind)
{
	return kind == ALLOC_REALLOC || kind == ALLOC_REALLOCARRAY || is_mapping(kind);
}

static __always_inline void take_old(struct task_state *call, __u64 addr, __u32 tgid)
{
	call->old_addr = addr && take_block(addr, tgid, &call->old) ? addr : 0;
}

__noinline int call_make(void)
{
	return task_state_create(bpf_get_current_task_btf()) != NULL;
}

/* Handles the entry of an allocating function. Returns 1 if its return need not be traced. */
static __always_inline int call_begin(struct pt_regs *ctx, __u32 kind)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 tgid = tgid_of_current(task), window = current_window();
	bool keeps = (!settings.by_windows || window) && is_wanted(tgid);
	struct task_state *call;

	if (!keeps && !filter_tgid(tgid)) {
		count_call(foreign);
		return 1;
	}
	if (!keeps && !takes_back(kind))
		return 1;
	call = task_state_find(task);
	if (!call && call_make())
		call = task_state_find(task);
	if (!call) {
		loss_count(LOSS_NO_CALL, 0);
		return 1;
	}
	if (call_is_nested(call, PT_REGS_SP(ctx), PT_REGS_IP(ctx), window))
		return 1;
	if (keeps)
		count_call(allocs);
	else
		count_call(frees);
	call->sp = 0;
	call->old_addr = 0;
	if (may_throw(ctx, kind))
		return 1;
	if (is_mapping(kind))
		keeps &= mapping_begin(ctx, call, kind);
	else if (takes_back(kind))
		take_old(call, PT_REGS_PARM1(ctx), tgid);
	if (!keeps && !call->old_addr && !is_mapping(kind))
		return 1;
	if (kind == ALLOC_POSIX_MEMALIGN)
		call->out_addr = PT_REGS_PARM1(ctx);
	call->size = requested_size(ctx, kind);
	call->ip = PT_REGS_IP(ctx);
	call->kind = kind;
	call->n_nested = 0;
	call->keeps = keeps;
	if (settings.by_windows)
		call->window = window;
	call->sp = PT_REGS_SP(ctx);
	return 0;
}

/* ---- user space: returns ---- */

/* Returns the address that the call returned; 0: none. */
static __always_inline __u64 call_result(struct pt_regs *ctx, const struct task_state *call)
{
	__u64 addr = PT_REGS_RC(ctx);

	if (call->kind == ALLOC_MPROTECT)
		return (__u32)addr ? 0 : call->old_addr;
	if (is_mapping(call->kind))
		return addr == ~0ULL ? 0 : addr;
	if (call->kind != ALLOC_POSIX_MEMALIGN)
		return addr;
	if ((__u32)addr || bpf_probe_read_user(&addr, sizeof(addr), (void *)call->out_addr))
		return 0;
	return addr;
}

/* Returns the id of the stack of the call that has just returned, with the function as leaf. */
static __always_inline __u64 call_stack(struct pt_regs *ctx, __u64 ip, __u32 tgid, __u32 generation)
{
	__u32 slot;
	struct stack_def *def;
	struct stack_scratch *scratch;

	if (!stack_settings.user)
		return 0;
	slot = stack_claim_slot();
	def = stack_begin(slot, STACK_USER, tgid);
	scratch = stack_scratch_of(slot);
	if (!def || !scratch)
		return 0;
	def->generation = generation;
	scratch->leaf = ip;
	copy_first_registers(&scratch->walk.regs, ctx);
	return stack_walk_user(ctx, slot, def);
}

/* Restores the old block: a failed realloc has freed nothing, unless its size was 0. */
static __always_inline void restore_old(struct task_state *call)
{
	if (call->old_addr && call->size && !is_mapping(call->kind))
		keep_block(call->old_addr, &call->old);
}

/*
 * Handles the return of an allocating function. Builds the record in the thread's state, since
 * stacks of BPF functions are small.
 */
static __always_inline int call_end(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct task_state *call = task_state_find(task);
	__u32 generation;
	__u64 addr;
	bool keeps;

	if (!call || !call->sp || !returns_from(ctx, call->sp))
		return 0;
	call->sp = 0;
	addr = call_result(ctx, call);
	if (!addr) {
		restore_old(call);
		return 0;
	}
	if (settings.trace && call->keeps && call->kind != ALLOC_MPROTECT)
		send_event(addr, call->size, call->kind, false);
	keeps = call->keeps && is_sampled(addr) && size_is_wanted(call->size);
	if (!keeps && !is_mapping(call->kind))
		return 0;
	call->old.tgid = tgid_of_current(task);
	generation = TASK_READ(task, self_exec_id);
	/* a block of 0 bytes takes memory, too, and a stack without bytes would not be shown */
	call->old.size_generation = block_pack(call->size ?: 1, generation);
	call->old.time = block_time();
	if (keeps)
		call->old.stack_id = call_stack(ctx, call->ip, call->old.tgid, generation);
	if (is_mapping(call->kind))
		send_range(call, addr, keeps);
	else
		keep_block(addr, &call->old);
	return 0;
}

/* ---- user space: frees ---- */

/*
 * Counts a free; returns false if the process is not traced. Ignores filters on threads: any thread
 * of a traced process may free a block, and filters apply to the allocating one.
 */
static __always_inline bool free_counts(__u32 tgid)
{
	if (filter_tgid(tgid)) {
		count_call(frees);
		return true;
	}
	count_call(foreign);
	return false;
}

static __noinline int munmap_begin(struct pt_regs *ctx)
{
	__u64 addr = PT_REGS_PARM1(ctx), bytes = PT_REGS_PARM2(ctx);
	__u32 tgid = tgid_of_current(bpf_get_current_task_btf());

	if (!addr || !free_counts(tgid))
		return 1;
	if (settings.trace)
		send_event(addr, bytes, ALLOC_MUNMAP, false);
	send_unmapped(addr, bytes, tgid);
	return 1;
}

/* ---- the programs of user space ---- */

static __always_inline int function_begin(struct pt_regs *ctx)
{
	__u32 kind = bpf_get_attach_cookie(ctx);

	if (kind < ALLOC_FREE)
		return call_begin(ctx, kind);
	return munmap_begin(ctx);
}

/*
 * Handles frees, half of all probe hits, separately from function_begin(): without its helper calls
 * a hit takes a tenth less time.
 */
SEC("uprobe")
int memleak_free(struct pt_regs *ctx)
{
	__u64 addr = PT_REGS_PARM1(ctx);
	__u32 tgid = tgid_of_current(bpf_get_current_task_btf());

	if (!addr || !free_counts(tgid))
		return 0;
	if (settings.trace)
		send_event(addr, 0, bpf_get_attach_cookie(ctx), false);
	take_block(addr, tgid, NULL);
	return 0;
}

SEC("uprobe")
int memleak_session(struct pt_regs *ctx)
{
	return uprobe_is_return(ctx) ? call_end(ctx) : function_begin(ctx);
}

SEC("uprobe")
int memleak_entry(struct pt_regs *ctx)
{
	function_begin(ctx);
	return 0;
}

SEC("uprobe")
int memleak_return(struct pt_regs *ctx)
{
	return call_end(ctx);
}

static __always_inline bool process_is_wanted(__u32 tgid)
{
	return tgid && (tgid == settings.command || filter_tgid(tgid));
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(memleak_exec, struct task_struct *task)
{
	__u32 tgid = task_tgid(task), generation = TASK_READ(task, self_exec_id);

	if (process_is_wanted(tgid))
		bpf_map_update_elem(&memleak_generations, &tgid, &generation, BPF_ANY);
	return 0;
}

/* Resets the new process's exec count, which may be that of an earlier process with its pid. */
SEC("tp_btf/sched_process_fork")
int BPF_PROG(memleak_fork, struct task_struct *parent, struct task_struct *child)
{
	__u32 tgid = task_tgid(child);

	if (TASK_READ(child, pid) == TASK_READ(child, tgid))
		bpf_map_delete_elem(&memleak_generations, &tgid);
	return 0;
}

/* The loader may have read an earlier name and cgroup, or none. */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(memleak_exit, struct task_struct *task)
{
	__u32 tgid = task_tgid(task);
	struct memleak_ended ended = {};

	if (!task_is_leader(task) || !process_is_wanted(tgid))
		return 0;
	ended.cgroup_id = task_cgroup(task);
	task_comm(task, ended.comm);
	bpf_map_update_elem(&memleak_ended, &tgid, &ended, BPF_ANY);
	return 0;
}

/* ---- the kernel, by its tracepoints ---- */

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

/* Counts frees of recorded blocks by any task, and of all other blocks by traced tasks. */
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
KERNEL_ALLOC(percpu_alloc_percpu, percpu_pointer(ctx), percpu_bytes(ctx) * settings.cpus)
KERNEL_FREE(kfree, raw_tp_arg(ctx, 1))
KERNEL_FREE(kmem_cache_free, raw_tp_arg(ctx, 1))
KERNEL_FREE(mm_page_free, raw_tp_arg(ctx, 0))
KERNEL_FREE(percpu_free_percpu, raw_tp_arg(ctx, 2))

char LICENSE[] SEC("license") = "GPL";
