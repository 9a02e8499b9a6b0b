/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The loader needs a moment until it has the tables of a program that has just begun or of a
 * library that has just been loaded, and on a busy machine the moment can be long. Stacks that
 * cannot be walked because of that are copied, with the registers, for the loader to walk when it
 * has caught up. Each copy has an id of its own, since its frames are not yet known.
 */
#ifndef UNWIND_COPY_BPF_H
#define UNWIND_COPY_BPF_H

#include "stack/unwind.bpf.h"

/*
 * A ring of their own: a lot of copies must not displace definitions. While the loader compiles the
 * tables of a compiler, for a tenth of a second or more, it reads none.
 */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 2 << 20); /* the loader knows how many CPUs there are */
} unwind_copies SEC(".maps");

static __always_inline __u64 unwind_copy_id(const struct unwind_copy *copy)
{
	__u64 id = (copy->time_ns << 12) ^ bpf_get_smp_processor_id() ^ copy->tgid;

	id *= 0x9e3779b97f4a7c15ULL; /* odd: no two become one */
	return (id & ~STACK_ID_AT_START) | 1;
}

/* Returns 1 or 0 without a branch, of which the verifier would check both sides. */
static __always_inline __u64 unwind_has_failed(long err)
{
	return (__u64)err >> 63;
}

/*
 * Copies the stack from sp on, in pieces that don't cross the end of a page: what is left above the
 * topmost frame may be less than a piece. A large variable can leave pages of the stack that were
 * never touched.
 */
static __always_inline void unwind_copy_stack(struct unwind_copy *copy, __u64 sp, __u32 max_bytes,
					      __u32 piece)
{
	__u32 first = piece - (sp & (piece - 1)), at;
	__u64 holes = unwind_has_failed(bpf_probe_read_user(copy->bytes, first, (void *)sp));

	for (at = 0; at + 2 * piece <= max_bytes; at += piece)
		holes |= unwind_has_failed(bpf_probe_read_user(copy->bytes + first + at, piece,
							       (void *)(sp + first + at)))
			 << (at / piece + 1);
	copy->n_bytes = first + at;
	copy->piece = piece;
	copy->holes = holes;
}

static __always_inline __u64 unwind_send_copy_of(struct stack_scratch *scratch, __u32 change,
						 __u32 max_bytes, __u32 piece)
{
	struct unwind_copy *copy;
	__u64 id;

	copy = bpf_ringbuf_reserve(&unwind_copies, sizeof(*copy) + max_bytes, 0);
	if (!copy)
		return 0;
	copy->kind = STACK_COPY;
	copy->tgid = scratch->def.tgid;
	copy->generation = scratch->def.generation;
	copy->n_words = 0;
	copy->reason = scratch->def.reason;
	copy->time_ns = bpf_ktime_get_ns();
	copy->map_size = unwind_perf_map_size(copy->tgid);
	copy->change = change;
	copy->leaf = scratch->leaf;
	copy->regs = scratch->walk.regs;
	copy->regs.thread_base = unwind_thread_base(&scratch->walk);
	bpf_probe_read_kernel(&copy->returns, sizeof(copy->returns), &scratch->returns);
	unwind_copy_stack(copy, scratch->walk.regs.sp, max_bytes, piece);
	copy->id = id = unwind_copy_id(copy);
	bpf_ringbuf_submit(copy, 0);
	return id;
}

/*
 * Returns the stack's size from sp on, for a process's first thread; a very large number for
 * others.
 */
static __always_inline __u64 unwind_stack_bytes(__u64 sp)
{
	struct task_struct *task = (void *)bpf_get_current_task();

	return BPF_CORE_READ(task, mm, start_stack) - sp;
}

/* Limits consecutive copies: a process's walks may always end early. */
static __always_inline bool unwind_count_copy(__u32 *n_copies)
{
	if (*n_copies >= UNWIND_MAX_COPIES)
		return false;
	__sync_fetch_and_add(n_copies, 1);
	return true;
}

static __always_inline bool unwind_may_copy(__u32 tgid, struct unwind_change *change)
{
	struct unwind_process *process = bpf_map_lookup_elem(&unwind_processes, &tgid);

	return unwind_count_copy(process ? &process->n_copies : &change->n_copies);
}

/*
 * Passes the incomplete stack in the slot to the loader. Returns its id; 0: not passed. Creates the
 * process's count, so that the next exec changes it, even for a child that only has its parent's
 * slice.
 */
__noinline __u64 unwind_send_copy(__u32 slot)
{
	struct stack_scratch *scratch = stack_scratch_of(slot);
	struct unwind_change *change;
	__u32 tgid, count;
	__u64 bytes;

	if (!unwind_settings.by_cfi || !scratch)
		return 0;
	if (scratch->def.reason != UNWIND_NO_PROCESS && scratch->def.reason != UNWIND_NO_MAPPING)
		return 0;
	tgid = scratch->def.tgid;
	change = unwind_get_change(tgid);
	if (!change || !unwind_may_copy(tgid, change))
		return 0;
	count = change->count;
	unwind_take_returns(slot, (void *)bpf_get_current_task());
	bytes = unwind_stack_bytes(scratch->walk.regs.sp);
	if (bytes <= UNWIND_COPY_SMALL - UNWIND_COPY_PIECE)
		return unwind_send_copy_of(scratch, count, UNWIND_COPY_SMALL, UNWIND_COPY_PIECE);
	if (bytes <= UNWIND_COPY_MEDIUM - UNWIND_COPY_PIECE)
		return unwind_send_copy_of(scratch, count, UNWIND_COPY_MEDIUM, UNWIND_COPY_PIECE);
	return unwind_send_copy_of(scratch, count, UNWIND_COPY_LARGE, UNWIND_COPY_PAGE);
}

#endif
