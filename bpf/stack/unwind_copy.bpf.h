/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Copies stacks that cannot be walked yet: the loader takes some time to get the tables of a new
 * program or library, on a busy machine a long time. The loader walks the copies, with their
 * registers, once it has the tables. Each copy has an id of its own, since its frames are not known
 * yet.
 */
#ifndef UNWIND_COPY_BPF_H
#define UNWIND_COPY_BPF_H

#include "lib/maps.bpf.h"
#include "stack/unwind.bpf.h"

/*
 * Copies, in a separate ring buffer: many copies must not displace definitions. While the loader
 * compiles the tables of a large program, for a tenth of a second or more, it reads none.
 */
MAP_RINGBUF(unwind_copies, 2 << 20); /* the loader adapts it to the number of CPUs */

static __always_inline __u64 unwind_copy_id(const struct unwind_copy *copy)
{
	__u64 id = (copy->time_ns << 12) ^ bpf_get_smp_processor_id() ^ copy->tgid;

	id *= 0x9e3779b97f4a7c15ULL; /* odd: keeps ids distinct */
	return (id & ~STACK_ID_AT_START) | 1;
}

/* Returns 1 for an error, else 0, without a branch: the verifier would check both sides. */
static __always_inline __u64 unwind_has_failed(long err)
{
	return (__u64)err >> 63;
}

/*
 * Copies the stack from sp on, in aligned pieces that don't cross the end of a page, since less
 * than a piece may be mapped above the topmost frame. Unreadable pieces are holes: a large variable
 * can leave pages of the stack untouched.
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

/* Returns the stack's size above sp in a process's first thread; a huge number in other threads. */
static __always_inline __u64 unwind_stack_bytes(__u64 sp)
{
	struct task_struct *task = (void *)bpf_get_current_task();

	return BPF_CORE_READ(task, mm, start_stack) - sp;
}

/*
 * Counts a copy. Returns false at the limit: without it, a process whose walks all end early would
 * have every stack copied.
 */
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
 * process's count of changes, so that the next exec changes it, even for a child that has only its
 * parent's slice.
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
