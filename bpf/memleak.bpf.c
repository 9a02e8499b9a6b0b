// SPDX-License-Identifier: GPL-2.0-only
/*
 * Live blocks: each is recorded from the return of the function that allocated it to the entry of
 * the one that frees it, with its size, time, and the stack of the allocation.
 *
 * A block is taken out of the table before the real free begins, while no one else can be given the
 * same address, and put in after the real allocation. Functions that allocate call each other: an
 * allocation made inside of another one's call belongs to the outer call, so each thread remembers
 * its outermost call by the stack pointer at its entry.
 */
#include "leak/leak_kernel.bpf.h"
#include "leak/leak_ranges.bpf.h"
#include "lib/uprobe.bpf.h"

/* ---- user space: entries ---- */

/* Multiplies by halves. SIZE_OVERFLOWED: the result is 2^63 or more. */
static __always_inline __u64 multiply(__u64 n, __u64 size)
{
	__u64 high = (n >> 32) * (__u32)size + (size >> 32) * (__u32)n;

	if ((n >> 32 && size >> 32) || high >> 31)
		return SIZE_OVERFLOWED;
	return n * size;
}

/* How much is requested. */
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

/* An exception ends the program where it is thrown through a function whose return is probed. */
static __always_inline bool may_throw(struct pt_regs *ctx, __u32 kind)
{
	return kind == ALLOC_NEW && PT_REGS_PARM1(ctx) > settings.max_new_bytes;
}

/*
 * A nested call has a lower stack pointer. Same sp: a tail call, or the outer call never returned.
 * Returns of calls that began in an earlier window aren't probed.
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

/* The block that it frees may be recorded, even if the one that it returns is not. */
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

/* Entry of a function that allocates. 1: its return need not be traced. */
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

/* Returns the address that the call has given; 0: none. */
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

/* Returns the id of the stack of the call that has just returned, function on top. */
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

/* A failed realloc has freed nothing, unless its size was 0. */
static __always_inline void restore_old(struct task_state *call)
{
	if (call->old_addr && call->size && !is_mapping(call->kind))
		keep_block(call->old_addr, &call->old);
}

/* The record is built in the thread's state: stacks of BPF functions are small here. */
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
	call->old.size_generation = block_pack(call->size, generation);
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
 * Any thread of a traced process may free a block: the filter for threads is about the allocating
 * one. False: the process is not traced.
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

/* Half of all probe hits: skipping the helper calls saves a tenth of its time. */
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

SEC("tp_btf/sched_process_exec")
int BPF_PROG(memleak_exec, struct task_struct *task)
{
	__u32 tgid = task_tgid(task), generation = TASK_READ(task, self_exec_id);

	if (tgid && (tgid == settings.command || filter_tgid(tgid)))
		bpf_map_update_elem(&memleak_generations, &tgid, &generation, BPF_ANY);
	return 0;
}

/* It has executed nothing yet, unlike an earlier process of that pid. */
SEC("tp_btf/sched_process_fork")
int BPF_PROG(memleak_fork, struct task_struct *parent, struct task_struct *child)
{
	__u32 tgid = task_tgid(child);

	if (TASK_READ(child, pid) == TASK_READ(child, tgid))
		bpf_map_delete_elem(&memleak_generations, &tgid);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
