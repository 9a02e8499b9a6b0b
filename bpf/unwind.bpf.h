/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * User stacks of the current task, walked with the tables that the loader compiles from .eh_frame,
 * so that programs without frame pointers have complete ones; along frame pointers through code
 * that has no unwind information; 32-bit programs by the kernel's own walk.
 *
 * One frame is a global function, and so are some of them in a row: the verifier looks at a global
 * function once, not at each turn of a loop. It takes no pointers (kernels before 5.12 refuse them
 * there), so the walk's state lies in a map. See unwind_map.h for the tables, unwind.h for the
 * rules.
 */
#ifndef UNWIND_BPF_H
#define UNWIND_BPF_H

#include "compat.bpf.h"
#include "filter.bpf.h"
#include "abi/stack.h"
#include "abi/unwind_layout.h"

static __always_inline bool unwind_read(struct unwind_state *s, void *dst, __u32 size, __u64 addr)
{
	(void)s;
	return !bpf_probe_read_user(dst, size, (void *)addr);
}

#include "abi/unwind_walk.h"

const volatile struct unwind_settings unwind_settings SEC(".rodata.unwind") = { .by_cfi = true };

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* the loader makes it as large as the machine asks for */
	__type(key, __u32);
	__type(value, struct unwind_process);
} unwind_processes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* likewise */
	__type(key, __u32);
	__type(value, struct unwind_mapping);
} unwind_mappings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, UNWIND_MAX_PAGES);
	__type(key, __u32);
	__type(value, struct unwind_page);
} unwind_pages SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, UNWIND_MAX_RULES);
	__type(key, __u32);
	__type(value, struct unwind_rule);
} unwind_rules SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, UNWIND_MAX_PATTERNS);
	__type(key, __u32);
	__type(value, struct unwind_pattern);
} unwind_patterns SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, UNWIND_CHANGES);
	__type(key, __u32);
	__type(value, struct unwind_change);
} unwind_changes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, UNWIND_RECENT);
	__type(key, __u32);
	__type(value, __u64);
} unwind_recent SEC(".maps");

struct unwind_shard_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32)); /* by size: BTF drops types at this depth */
	__uint(value_size, sizeof(struct unwind_shard));
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, UNWIND_MAX_SHARDS);
	__type(key, __u32);
	__array(values, struct unwind_shard_map);
} unwind_shards SEC(".maps");

/*
 * Where a stack is put together. Functions pass the slot's number around, since global ones take no
 * pointers. Programs that run with preemption off use the slot of their CPU. One that can be
 * preempted, as uprobe programs can, defines STACK_PREEMPTIBLE and claims one that is free; none of
 * its functions may have 64 bytes of stack or more, which Linux 7.2 overwrites.
 * The loader makes the map as large as the machine.
 */
struct stack_scratch {
	__u64 is_claimed;
	__u64 leaf; /* a function that has just returned to where the walk begins; 0: none */
	struct unwind_state walk;
	struct stack_def def;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct stack_scratch);
} stack_scratch SEC(".maps");

#define STACK_NO_SLOT	 ~0U
#define STACK_SLOT_TRIES 8

static __always_inline struct stack_scratch *stack_scratch_of(__u32 slot)
{
	return bpf_map_lookup_elem(&stack_scratch, &slot);
}

#ifdef STACK_PREEMPTIBLE
/* Compare-and-exchange in BPF came with 5.12 (commit 5ffa25502b5a). */
__noinline __u32 stack_claim_slot(void)
{
	__u32 slot = bpf_get_smp_processor_id() * STACK_CPU_SLOTS;
	struct stack_scratch *scratch;

	for (int i = 0; i < STACK_SLOT_TRIES; i++, slot++) {
		scratch = stack_scratch_of(slot);
		if (scratch && !__sync_val_compare_and_swap(&scratch->is_claimed, 0, 1))
			return slot;
	}
	return STACK_NO_SLOT;
}

static __always_inline void stack_release_slot(__u32 slot)
{
	struct stack_scratch *scratch = stack_scratch_of(slot);

	if (scratch)
		scratch->is_claimed = 0;
}
#else
static __always_inline __u32 stack_claim_slot(void)
{
	return bpf_get_smp_processor_id();
}

static __always_inline void stack_release_slot(__u32 slot)
{
}
#endif

/* ---- tables ---- */

/* Finds the mapping of an address: 1, with it in the walk's state, or 0. */
__noinline int unwind_find_mapping(__u32 slot, __u64 ip)
{
	struct stack_scratch *scratch = stack_scratch_of(slot);
	__u32 below, above, index;
	struct unwind_mapping *m;
	struct unwind_state *s;

	if (!unwind_settings.by_cfi || !scratch)
		return 0;
	s = &scratch->walk;
	if (ip >= s->mapping.start && ip < s->mapping.end)
		return 1;
	below = s->process.first;
	above = below + s->process.count;
	for (int i = 0; i < UNWIND_SLICE_BITS && below < above; i++) {
		index = below + (above - below) / 2;
		m = bpf_map_lookup_elem(&unwind_mappings, &index);
		if (!m)
			return 0;
		if (ip < m->start) {
			above = index;
		} else if (ip >= m->end) {
			below = index + 1;
		} else {
			s->mapping = *m;
			return 1;
		}
	}
	return 0;
}

static __always_inline __u32 unwind_search_pattern(__u32 index, __u32 distance)
{
	struct unwind_pattern *pattern = bpf_map_lookup_elem(&unwind_patterns, &index);

	return pattern ? unwind_pattern_rule(pattern, distance) : UNWIND_RULE_NOT_YET;
}

/* The number of the rule in a page for the low bits of an address. */
__noinline __u32 unwind_search_page(__u32 page_index, __u32 low)
{
	__u32 shard_index, zero = 0, number, distance;
	struct unwind_shard *shard;
	struct unwind_page *page;
	void *shard_map;

	if (!unwind_settings.by_cfi)
		return UNWIND_RULE_NOT_YET;
	page = bpf_map_lookup_elem(&unwind_pages, &page_index);
	if (!page)
		return UNWIND_RULE_NOT_YET;
	shard_index = page->shard;
	shard_map = bpf_map_lookup_elem(&unwind_shards, &shard_index);
	if (!shard_map)
		return UNWIND_RULE_NOT_YET;
	shard = bpf_map_lookup_elem(shard_map, &zero);
	if (!shard)
		return UNWIND_RULE_NOT_YET;
	number = unwind_search(shard, page->first_cell, low, &distance);
	return number < UNWIND_FIRST_PATTERN
		       ? number
		       : unwind_search_pattern(number - UNWIND_FIRST_PATTERN, distance);
}

/* The number of the rule for an address, by the tables. */
static __always_inline __u32 unwind_search_rule(__u32 slot, struct unwind_state *s, __u64 ip)
{
	__u64 at, index;

	if (!unwind_find_mapping(slot, ip)) /* may have tables, only not yet */
		return UNWIND_RULE_NOT_YET;
	at = ip - s->mapping.pages_start;
	index = at >> UNWIND_PAGE_SHIFT;
	if (index >= s->mapping.n_pages)
		return UNWIND_RULE_GAP;
	return unwind_search_page(s->mapping.first_page + index, at & 0xffff);
}

/* The rule for an address; NULL: there may be one, only not yet. */
static __always_inline struct unwind_rule *unwind_find_rule(__u32 slot, struct unwind_state *s,
							    __u64 ip)
{
	__u64 hash = (ip ^ s->salt) * UNWIND_RECENT_HASH, known;
	__u32 place = hash >> (64 - UNWIND_RECENT_BITS), rule;
	__u64 *recent = bpf_map_lookup_elem(&unwind_recent, &place);

	if (!recent)
		return NULL;
	known = *(volatile __u64 *)recent;
	rule = known & (UNWIND_MAX_RULES - 1);
	if ((known ^ hash) >> UNWIND_RULE_BITS) {
		rule = unwind_search_rule(slot, s, ip);
		if (rule != UNWIND_RULE_NOT_YET)
			*(volatile __u64 *)recent = (hash & -(__u64)UNWIND_MAX_RULES) | rule;
	}
	return bpf_map_lookup_elem(&unwind_rules, &rule);
}

/* ---- one frame ---- */

/*
 * Where there is no rule: as if there were a frame pointer, if that leads to known code. The
 * outermost frame has 0 there (psABI AMD64 1.0, 3.4.1): the dynamic linker's, musl's threads'.
 */
static __always_inline int unwind_by_frame_pointer(__u32 slot, struct unwind_state *s)
{
	struct unwind_frame_record record;

	if (!s->bp)
		return UNWIND_COMPLETE;
	if (!unwind_read_frame_record(s, &record) ||
	    !unwind_find_mapping(slot, record.return_address - 1))
		return UNWIND_NO_RULE;
	return unwind_follow_record(s, &record);
}

/*
 * Marks the frame that a walk is at, which a signal has interrupted, and the trampoline before it.
 */
__noinline int unwind_mark_exact(__u32 slot)
{
	struct stack_scratch *scratch = stack_scratch_of(slot);
	__u32 n;

	if (!scratch)
		return 0;
	n = scratch->def.n_words;
	if (n < 2 || n > STACK_DEPTH)
		return 0;
	scratch->def.words[n - 1] = stack_mark_exact(scratch->def.words[n - 1]);
	scratch->def.words[n - 2] = stack_mark_exact(scratch->def.words[n - 2]);
	return 0;
}

/* From a frame to its caller. UNWIND_GOES_ON, or how the walk ended. */
__noinline int unwind_step(__u32 slot)
{
	struct stack_scratch *scratch = stack_scratch_of(slot);
	struct unwind_rule *rule;
	struct unwind_state *s;
	__u64 ip;

	if (!unwind_settings.by_cfi || !scratch)
		return UNWIND_NO_PROCESS;
	s = &scratch->walk;
	ip = s->ip - !s->ip_is_exact;
	if (s->ip_is_exact)
		unwind_mark_exact(slot);
	rule = unwind_find_rule(slot, s, ip);
	if (!rule)
		return UNWIND_NO_MAPPING;
	if (rule->kind == UNWIND_GAP)
		return unwind_by_frame_pointer(slot, s);
	return unwind_by_rule(s, rule);
}

/* ---- a walk ---- */

static __always_inline struct unwind_change *unwind_find_change(__u32 tgid)
{
	__u32 index = tgid % UNWIND_CHANGES;

	return bpf_map_lookup_elem(&unwind_changes, &index);
}

/* The process's slice, unless something has taken the place of what it describes. */
static __always_inline struct unwind_process *unwind_find_process(__u32 tgid)
{
	struct unwind_process *process = bpf_map_lookup_elem(&unwind_processes, &tgid);
	struct unwind_change *change = unwind_find_change(tgid);

	return process && change && change->count == process->change ? process : NULL;
}

/* The leaf. Where a function has just returned, its place is taken up again, above its caller. */
static __always_inline void unwind_begin_words(struct stack_scratch *scratch)
{
	struct unwind_state *s = &scratch->walk;

	scratch->def.words[0] = scratch->leaf ? scratch->leaf : s->ip;
	scratch->def.n_words = 1;
	if (!scratch->leaf)
		return;
	s->ip_is_exact = false;
	scratch->def.words[1] = s->ip;
	scratch->def.n_words = 2;
}

/* From here on each turn takes down its own frame. */
static __always_inline void unwind_begin_turns(struct stack_scratch *scratch)
{
	scratch->def.n_words = scratch->leaf != 0;
}

/*
 * The registers with which the current task entered the kernel, and its process's tables. Without
 * tables the leaf is all that is certain: a walk along what may be frame pointers invents callers.
 */
static __always_inline int unwind_prepare(struct stack_scratch *scratch)
{
	struct unwind_process *process = unwind_find_process(scratch->def.tgid);
	struct unwind_state *s = &scratch->walk;

	if (!read_user_registers(&s->regs, current_user_registers()))
		return UNWIND_FAULT;
	if (registers_are_32bit(&s->regs))
		return UNWIND_32BIT;
	unwind_begin(s);
	unwind_begin_words(scratch);
	if (!process)
		return UNWIND_NO_PROCESS;
	s->process = *process;
	s->salt = process->serial * 0xbf58476d1ce4e5b9ULL;
	return UNWIND_GOES_ON;
}

/* Takes down the frame that a walk is at. False: there is no room. */
static __always_inline bool unwind_note_frame(struct stack_scratch *scratch)
{
	__u32 n = scratch->def.n_words;

	if (n >= STACK_DEPTH)
		return false;
	scratch->def.words[n] = scratch->walk.ip;
	scratch->def.n_words = n + 1;
	return true;
}

__noinline int unwind_walk_some(__u32 slot)
{
	struct stack_scratch *scratch = stack_scratch_of(slot);
	int reason;

	if (!unwind_settings.by_cfi || !scratch)
		return UNWIND_NO_PROCESS;
	for (int i = 0; i < STACK_CHUNK; i++) {
		if (!unwind_note_frame(scratch))
			return UNWIND_DEPTH;
		reason = unwind_step(slot);
		if (reason)
			return reason;
	}
	return UNWIND_GOES_ON;
}

/*
 * What ended a walk early may be the task's own state. One past exit_mm() has no address space any
 * more. From the moment that exec gives it a new one until the new program's registers are set, it
 * has those of a program that is gone; end_code is set last. A thread that the kernel made for the
 * process (io_uring's) never was in user space: its registers are zero. And where nothing lies on
 * the stack, at a program's first instruction, there is no caller.
 */
__noinline int unwind_judge(__u32 slot, int reason)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct stack_scratch *scratch = stack_scratch_of(slot);
	struct mm_struct *mm = BPF_CORE_READ(task, mm);

	if (!scratch || reason == UNWIND_COMPLETE || reason == UNWIND_DEPTH)
		return reason;
	if (!mm || !scratch->walk.regs.sp || !BPF_CORE_READ(mm, end_code)) {
		scratch->def.n_words = 0;
		return UNWIND_NO_STACK;
	}
	if (scratch->def.n_words == 1 && scratch->walk.regs.sp == BPF_CORE_READ(mm, start_stack))
		return UNWIND_COMPLETE;
	return reason;
}

/* Walks the stack of the current task, process def.tgid, into the slot. How the walk ended. */
__noinline int unwind_walk(__u32 slot)
{
	struct stack_scratch *scratch = stack_scratch_of(slot);
	int reason;

	if (!unwind_settings.by_cfi || !scratch)
		return UNWIND_NO_PROCESS;
	scratch->def.n_words = 0;
	reason = unwind_prepare(scratch);
	if (!reason)
		unwind_begin_turns(scratch);
	for (int i = 0; i < STACK_DEPTH / STACK_CHUNK && !reason; i++)
		reason = unwind_walk_some(slot);
	return unwind_judge(slot, reason ? reason : UNWIND_DEPTH);
}

/*
 * The same along frame pointers alone. The kernel's own walk, bpf_get_stack(), finds the same
 * frames, but reads whatever rbp points at, and the fault costs more than the whole walk.
 */
__noinline int unwind_step_by_fp(__u32 slot)
{
	struct stack_scratch *scratch = stack_scratch_of(slot);
	struct unwind_frame_record record;
	struct unwind_state *s;

	if (unwind_settings.by_cfi || !scratch)
		return UNWIND_BY_FP;
	s = &scratch->walk;
	if (!unwind_read_frame_record(s, &record) || !record.return_address)
		return UNWIND_BY_FP;
	return unwind_follow_record(s, &record);
}

__noinline int unwind_walk_some_by_fp(__u32 slot)
{
	struct stack_scratch *scratch = stack_scratch_of(slot);

	if (unwind_settings.by_cfi || !scratch)
		return UNWIND_BY_FP;
	for (int i = 0; i < STACK_CHUNK; i++)
		if (!unwind_note_frame(scratch) || unwind_step_by_fp(slot))
			return UNWIND_BY_FP;
	return UNWIND_GOES_ON;
}

__noinline int unwind_walk_by_fp(__u32 slot)
{
	struct stack_scratch *scratch = stack_scratch_of(slot);

	if (unwind_settings.by_cfi || !scratch)
		return UNWIND_BY_FP;
	scratch->def.n_words = 0;
	if (!read_user_registers(&scratch->walk.regs, current_user_registers()) ||
	    registers_are_32bit(&scratch->walk.regs))
		return UNWIND_BY_FP;
	unwind_begin(&scratch->walk);
	unwind_begin_words(scratch);
	unwind_begin_turns(scratch);
	for (int i = 0; i < STACK_DEPTH / STACK_CHUNK; i++)
		if (unwind_walk_some_by_fp(slot))
			break;
	return UNWIND_BY_FP;
}

/* Takes the current task's user stack: addresses, leaf first, and how the walk ended. */
static __always_inline void unwind_user(void *ctx, __u32 slot, struct stack_def *def)
{
	long bytes;

	def->reason = unwind_settings.by_cfi ? unwind_walk(slot) : unwind_walk_by_fp(slot);
	if (def->n_words || def->reason == UNWIND_NO_STACK)
		return;
	bytes = bpf_get_stack(ctx, def->words, sizeof(def->words), BPF_F_USER_STACK);
	def->n_words = bytes > 0 ? bytes / sizeof(__u64) : 0;
}

/* ---- processes ---- */

/*
 * A child begins with its parent's mappings, and a program that is executed with none: until the
 * loader has looked at it, the tables of the one before must not be used.
 */
SEC("tp_btf/sched_process_fork")
int BPF_PROG(unwind_fork, struct task_struct *parent, struct task_struct *child)
{
	__u32 tgid = task_tgid(parent), child_tgid = task_tgid(child);
	struct unwind_process *process, childs;
	struct unwind_change *change;

	if (tgid == child_tgid)
		return 0;
	process = unwind_find_process(tgid);
	change = unwind_find_change(child_tgid);
	if (!process || !change)
		return 0;
	childs = *process;
	childs.change = change->count;
	bpf_map_update_elem(&unwind_processes, &child_tgid, &childs, BPF_ANY);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(unwind_exec, struct task_struct *task)
{
	__u32 tgid = task_tgid(task);
	struct unwind_change *change = unwind_find_change(tgid);

	bpf_map_delete_elem(&unwind_processes, &tgid);
	if (!change)
		return 0;
	__sync_fetch_and_add(&change->count, 1);
	change->n_copies = 0;
	return 0;
}

/* Whether a slice has a mapping with an address in that range. */
static __always_inline bool unwind_has_code(const struct unwind_process *process, __u64 start,
					    __u64 end)
{
	__u32 below = process->first, above = below + process->count, index;
	struct unwind_mapping *m;

	for (int i = 0; i < UNWIND_SLICE_BITS && below < above; i++) {
		index = below + (above - below) / 2;
		m = bpf_map_lookup_elem(&unwind_mappings, &index);
		if (!m)
			return false;
		if (end <= m->start)
			above = index;
		else if (start >= m->end)
			below = index + 1;
		else
			return true;
	}
	return false;
}

/*
 * The kernel has found room for a new mapping of the current process. If there was code by what the
 * loader has seen last, that has been unmapped since.
 */
SEC("tp_btf/vm_unmapped_area")
int BPF_PROG(unwind_unmapped, unsigned long addr, struct vm_unmapped_area_info *info)
{
	__u32 tgid = current_tgid();
	struct unwind_process *process = bpf_map_lookup_elem(&unwind_processes, &tgid);
	struct unwind_change *change = unwind_find_change(tgid);

	if (process && change && unwind_has_code(process, addr, addr + info->length))
		__sync_fetch_and_add(&change->count, 1);
	return 0;
}

#endif
