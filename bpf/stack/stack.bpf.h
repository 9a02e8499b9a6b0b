/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Exact stacks: walked into a scratch buffer, identified by their hash, and sent once through the
 * ring buffer. stacks_sent is a set-associative cache of sent ids, without allocations. A stack is
 * sent again if its id was evicted, or if it did not fit into the ring buffer.
 */
#ifndef STACK_BPF_H
#define STACK_BPF_H

#include "lib/compat.bpf.h"
#include "lib/filter.bpf.h"
#include "lib/ksyms.bpf.h"
#include "lib/loss.bpf.h"
#include "abi/stack.h"
#include "lib/maps.bpf.h"
#include "lib/table.bpf.h"
#include "runtimes/runtimes.bpf.h"
#include "stack/unwind.bpf.h"
#include "stack/unwind_copy.bpf.h"

const volatile struct stack_settings stack_settings SEC(".rodata.stack");

MAP_SHARED_ARRAY(stacks_sent, struct stack_sent_set, STACK_SENT_SETS);

/* Counts per stack. The loader drains them per interval, and if stacks_added shows a full table. */
TABLE_WITH_TURNS(stack_table, struct stack_key, struct stack_sum, 65536);

__u64 stacks_added SEC(".data.stacks") = 0;

/* Hashes one chunk of words: mixes in each by a multiplication whose high half is folded back. */
__noinline __u64 stack_hash_some(__u32 slot, __u32 first, __u64 h)
{
	struct stack_scratch *scratch = stack_scratch_of(slot);
	const __u64 *words;

	if (!scratch || first > STACK_WORDS - STACK_CHUNK)
		return h;
	words = scratch->def.words + first;
	for (__u32 i = 0; i < STACK_CHUNK && first + i < scratch->def.n_words; i++) {
		h = (h ^ words[i]) * 0x9e3779b97f4a7c15ULL;
		h ^= h >> 29;
	}
	return h;
}

/* Returns a definition's stack id: never 0, and without the bit of ids assigned by the loader. */
static __always_inline __u64 stack_hash(__u32 slot, const struct stack_scratch *scratch)
{
	const struct stack_def *def = &scratch->def;
	__u64 h = def->kind + def->reason * 8 + ((__u64)def->tgid << 32) + def->generation;

	h ^= scratch->fingerprints ^ scratch->names;
	for (__u32 i = 0; i < STACK_WORDS && i < def->n_words; i += STACK_CHUNK)
		h = stack_hash_some(slot, i, h);
	h *= 0xbf58476d1ce4e5b9ULL;
	h ^= h >> 32;
	return (h & ~STACK_ID_AT_START) | 1;
}

static __always_inline bool stack_was_sent(struct stack_sent_set *set, __u64 id)
{
	for (int i = 0; i < STACK_SENT_WAYS; i++)
		if (set->ids[i] == id)
			return true;
	return false;
}

/* Sends a definition unless it was sent before. Returns false if the ring buffer is full. */
static __always_inline bool stack_send_once(struct stack_def *def)
{
	__u32 n_set = stack_sent_set_of(def->id), size;
	struct stack_sent_set *set = bpf_map_lookup_elem(&stacks_sent, &n_set);

	if (!set || def->n_words > STACK_WORDS)
		return false;
	if (stack_was_sent(set, def->id))
		return true;
	size = offsetof(struct stack_def, words) + def->n_words * sizeof(__u64);
	def->time_ns = bpf_ktime_get_ns();
	if (size > sizeof(*def) || bpf_ringbuf_output(&stack_defs, def, size, 0))
		return false;
	set->ids[(def->id >> 1) % STACK_SENT_WAYS] = def->id;
	return true;
}

/*
 * Interns the stack in the slot (kind, owner, words) and returns its id; 0 if it is empty. A global
 * function: the verifier checks its loops once per program, not once per call and path.
 */
__noinline __u64 stack_intern(__u32 slot)
{
	struct stack_scratch *scratch = stack_scratch_of(slot);

	if (!scratch || !scratch->def.n_words)
		return 0;
	scratch->def.id = stack_hash(slot, scratch);
	if (!scratch->lacks_definition)
		scratch->lacks_definition = !stack_send_once(&scratch->def);
	return scratch->def.id;
}

/* Begins a definition. Returns NULL if no slot was free. */
static __always_inline struct stack_def *stack_begin(__u32 slot, enum stack_kind kind, __u32 tgid)
{
	struct stack_scratch *scratch = stack_scratch_of(slot);

	if (!scratch)
		return NULL;
	scratch->def.kind = kind;
	scratch->def.tgid = tgid;
	scratch->def.generation = 0;
	scratch->def.reason = 0;
	scratch->def.map_size = 0;
	scratch->fingerprints = scratch->names = 0;
	scratch->lacks_definition = false;
	return &scratch->def;
}

/* Returns the id of the user stack that unwind_user() has taken. */
static __always_inline __u64 stack_name_user(__u32 slot, const struct stack_def *def)
{
	__u64 id;

	if (def->reason == UNWIND_GOES_ON)
		return def->id;
	runtimes_walk(slot);
	id = stack_intern(slot);
	stack_memory_keep(slot);
	return id;
}

/* Walks the user stack of a definition that has begun, returns its id, and releases the slot. */
static __always_inline __u64 stack_walk_user(void *ctx, __u32 slot, struct stack_def *def)
{
	__u64 id;

	unwind_user(ctx, slot, def);
	id = unwind_send_copy(slot);
	if (!id)
		id = stack_name_user(slot, def);
	stack_release_slot(slot);
	return id;
}

/* Returns the id of the current task's user stack. generation: its process's exec count. */
static __always_inline __u64 stack_intern_user_of(void *ctx, __u32 tgid, __u32 generation)
{
	__u32 slot = stack_claim_slot();
	struct stack_def *def = stack_begin(slot, STACK_USER, tgid);

	if (!def)
		return 0;
	def->generation = generation;
	return stack_walk_user(ctx, slot, def);
}

/* Returns the id of the current task's user stack, for a typed task, which saves helper calls. */
static __always_inline __u64 stack_intern_user_typed(void *ctx, struct task_struct *task)
{
	if (!stack_settings.user || task_is_kthread(task))
		return 0;
	return stack_intern_user_of(ctx, task_tgid(task), TASK_READ(task, self_exec_id));
}

static __always_inline __u64 stack_intern_user(void *ctx)
{
	struct task_struct *task = (void *)bpf_get_current_task();

	if (!stack_settings.user || flags_are_kthreads(BPF_CORE_READ(task, flags)))
		return 0;
	return stack_intern_user_of(ctx, current_tgid(), BPF_CORE_READ(task, self_exec_id));
}

/* Begins the definition of a kernel stack. Returns NULL if not wanted, or if no slot is free. */
static __always_inline struct stack_def *stack_begin_kernel(__u32 *slot)
{
	if (!stack_settings.kernel)
		return NULL;
	*slot = stack_claim_slot();
	return stack_begin(*slot, STACK_KERNEL, 0);
}

/* Sets the definition's length from a helper's result: bytes, or an error. */
static __always_inline void stack_take_bytes(struct stack_def *def, long bytes)
{
	def->n_words = bytes > 0 ? bytes / sizeof(__u64) : 0;
}

/* Ends the definition of a kernel stack and returns its id. */
static __always_inline __u64 stack_end_kernel(__u32 slot)
{
	__u64 id = stack_intern(slot);

	stack_release_slot(slot);
	return id;
}

/*
 * Returns the id of the current kernel stack. stack_intern_kernel_of(), for another task, is a
 * separate function because the verifier before about 6.4 does not know that a typed task isn't
 * NULL: it would check both helpers, and reject the one that needs a context.
 */
static __always_inline __u64 stack_intern_kernel_current(void *ctx)
{
	__u32 slot;
	struct stack_def *def = stack_begin_kernel(&slot);

	if (!def)
		return 0;
	stack_take_bytes(def, bpf_get_stack(ctx, def->words, STACK_KERNEL_BYTES, 0));
	return stack_end_kernel(slot);
}

/* Sets the stack's owner: process, thread, cgroup, name. */
static __always_inline void stack_key_owner(struct stack_key *key, struct task_struct *task)
{
	key->tgid = task_tgid(task);
	if (stack_settings.thread)
		key->tid = task_tid(task);
	if (stack_settings.cgroup)
		key->cgroup_id = task_cgroup(task);
	task_comm(task, key->comm);
}

/*
 * Finds the counts of a stack. table NULL: the first table, until the loader first switches tables,
 * which most runs never do. The verifier inlines a lookup in a constant table; the barrier keeps
 * the compiler from merging the two lookups.
 */
static __always_inline struct stack_sum *stack_find_sum(void *table, const struct stack_key *key)
{
	struct stack_sum *sum;

	if (table)
		return bpf_map_lookup_elem(table, key);
	sum = bpf_map_lookup_elem(&stack_table, key);
	barrier();
	return sum;
}

/* Sends a count to the loader, with its time. */
static __always_inline void stack_send_event(const struct stack_key *key, __u64 value, __u64 part)
{
	struct stack_event *event = bpf_ringbuf_reserve(&stack_defs, sizeof(*event), 0);

	if (!event) {
		loss_count(LOSS_RING_FULL, value);
		return;
	}
	event->time_ns = bpf_ktime_get_ns();
	event->kind = STACK_EVENT;
	event->unused = 0;
	event->sum.value = value;
	event->sum.part = part;
	event->key = *key;
	bpf_ringbuf_submit(event, 0);
}

static __always_inline void stack_count(const struct stack_key *key, __u64 value, __u64 part)
{
	struct stack_sum *sum, first = { .value = value, .part = part };
	__u32 zero = 0;
	void *table;

	if (stack_settings.events) {
		stack_send_event(key, value, part);
		return;
	}
	table = bpf_map_lookup_elem(&stack_tables, &zero);
	sum = stack_find_sum(table, key);
	if (!sum) {
		table = table ? table : &stack_table;
		if (!bpf_map_update_elem(table, key, &first, BPF_NOEXIST)) {
			__sync_fetch_and_add(&stacks_added, 1);
			return;
		}
		sum = bpf_map_lookup_elem(table, key); /* inserted by another CPU, or table full */
	}
	if (!sum) {
		if (value) /* else only the stacks are recorded, see wait_take() */
			loss_count(LOSS_MAP_FULL, value);
		return;
	}
	__sync_fetch_and_add(&sum->value, value);
	if (part)
		__sync_fetch_and_add(&sum->part, part);
}

#endif
