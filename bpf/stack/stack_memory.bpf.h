/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Cache of walks of user stacks, since threads block in the same few locations. A walk is a
 * function of its initial registers, the process's tables, and the words that it reads. These are
 * cached with the stack id: if they are the same again, so is the stack, and its id is known
 * without walking, hashing or sending.
 *
 * The words are close together: they are copied for comparison in a few pieces ("pages"). The cache
 * is per CPU, and only programs that hold the CPU's first slot use it, so nothing else changes it
 * meanwhile. New entries replace old ones.
 *
 * Only complete walks that depend on nothing else are cached: no walks with frames of a runtime,
 * with decoded instructions, or with registers that few rules use.
 *
 * Used by programs that define STACK_RECURS, because their stacks recur.
 */
#ifndef STACK_MEMORY_BPF_H
#define STACK_MEMORY_BPF_H

#include "stack/unwind_slots.bpf.h"
#include "stack/unwind_tables.bpf.h"

#ifdef STACK_RECURS

const volatile struct stack_memory_settings stack_memory_settings SEC(".rodata.memory");

/* Incremented by the loader when ids may have to be sent again, or their frames may change. */
__u64 stack_memory_epoch SEC(".data.memory") = 0;

/* Cache elements; those of a CPU are consecutive. The loader sets max_entries. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct stack_memory);
} stack_memories SEC(".maps");

/* Returns the element at place + page number; NULL: the slot has no cache. */
static __always_inline struct stack_memory *stack_memory_of(__u32 slot, __u32 place)
{
	__u32 index;

	if (slot % STACK_LEVELS || !stack_memory_settings.n)
		return NULL;
	index = slot / STACK_LEVELS * stack_memory_settings.n +
		(place & (stack_memory_settings.n - 1));
	return bpf_map_lookup_elem(&stack_memories, &index);
}

static __always_inline __u32 stack_memory_place(const struct stack_start *start)
{
	return (start->sp ^ start->ip << 20 ^ start->owner << 9) * 0x9e3779b97f4a7c15ULL >> 40;
}

static __always_inline void stack_start_take(struct stack_start *start,
					     const struct stack_scratch *scratch)
{
	const struct unwind_state *s = &scratch->walk;

	start->ip = s->ip;
	start->sp = s->sp;
	start->bp = s->bp;
	start->extra = s->extra;
	start->leaf = scratch->leaf;
	start->owner = (__u64)scratch->def.generation << 32 | scratch->def.tgid;
	start->tables = (stack_memory_epoch << 32 | s->process.serial) ^
			scratch->def.map_size * 0x9e3779b97f4a7c15ULL;
}

/* Compares two starts, except bp and extra, which the caller compares if the walk used them. */
static __always_inline bool stack_start_is(const struct stack_start *a, const struct stack_start *b)
{
	return a->ip == b->ip && a->sp == b->sp && a->leaf == b->leaf && a->owner == b->owner &&
	       a->tables == b->tables;
}

/* ---- recording a walk ---- */

/* Returns page n. The barrier preserves the mask, which only the verifier needs. */
static __always_inline struct stack_page *stack_record_at(struct stack_record *record, __u32 n)
{
	barrier_var(n);
	return &record->pages[n & (STACK_MEMORY_PAGES - 1)];
}

/* Returns a new page of the record, for words near addr; NULL: it is full. */
static __always_inline struct stack_page *stack_record_begin(struct stack_record *record,
							     __u64 addr)
{
	struct stack_page *page = stack_record_at(record, record->n_pages);

	if (record->n_pages >= STACK_MEMORY_PAGES)
		return NULL;
	record->n_pages++;
	page->start = addr - STACK_PAGE_BELOW;
	page->n = page->n_copied = 0;
	return page;
}

static __always_inline bool stack_page_has_room(const struct stack_page *page, __u64 addr)
{
	return addr - page->start < STACK_PAGE_WORDS * sizeof(__u64) && page->n < STACK_PAGE_SLOTS;
}

static __always_inline void stack_page_add(struct stack_page *page, __u32 at, __u64 word)
{
	__u32 n = page->n;

	barrier_var(n);
	n &= STACK_PAGE_SLOTS - 1;
	page->at[n] = at;
	page->words[n] = word;
	page->n = n + 1;
	if (page->n_copied <= at)
		page->n_copied = at + 1;
}

/* Records a word that determines the walk's path. */
__noinline int stack_memory_note(__u32 slot, __u64 addr, __u64 word)
{
	struct stack_scratch *scratch = stack_scratch_of(slot);
	struct stack_record *record;
	struct stack_page *page;

	if (!scratch)
		return 0;
	record = &scratch->record;
	page = stack_record_at(record, record->n_pages - 1);
	if (!record->n_pages || !stack_page_has_room(page, addr))
		page = stack_record_begin(record, addr);
	if (page && !(addr & 7))
		stack_page_add(page, (addr - page->start) / sizeof(word), word);
	else
		scratch->walk.recorder = 0;
	return 0;
}

/* ---- storing and looking up ---- */

__noinline int stack_memory_keep_page(__u32 slot, __u32 place, __u32 n, __u64 stamp)
{
	struct stack_scratch *scratch = stack_scratch_of(slot);
	struct stack_memory *memory = stack_memory_of(slot, place + n);

	if (!scratch || !memory)
		return 0;
	bpf_probe_read_kernel(&memory->page, sizeof(memory->page),
			      stack_record_at(&scratch->record, n));
	memory->page_stamp = stamp + n;
	return 0;
}

/* Stores the recorded walk if it is complete and its definition has been sent. */
__noinline int stack_memory_keep(__u32 slot)
{
	struct stack_scratch *scratch = stack_scratch_of(slot);
	struct stack_memory *head;
	__u64 stamp;
	__u32 n, place;

	if (!scratch || !scratch->walk.recorder || scratch->lacks_definition ||
	    scratch->def.reason != UNWIND_COMPLETE)
		return 0;
	n = scratch->record.n_pages;
	place = stack_memory_place(&scratch->record.start);
	stamp = bpf_ktime_get_ns() * STACK_MEMORY_PAGES;
	for (__u32 i = 0; i < STACK_MEMORY_PAGES && i < n; i++)
		stack_memory_keep_page(slot, place, i, stamp);
	head = stack_memory_of(slot, place);
	if (!head)
		return 0;
	head->stamp = stamp;
	head->n_pages = n;
	head->uses_bp = scratch->walk.uses_bp;
	head->uses_extra = scratch->walk.uses_extra;
	head->start = scratch->record.start;
	head->id = scratch->def.id;
	return 0;
}

/*
 * Compares memory with the words of a cached page, of the stack at `place`. Copies the memory to
 * def.words, which a cached stack does not use.
 */
__noinline int stack_memory_compare(__u32 slot, __u32 place, __u32 number)
{
	struct stack_scratch *scratch = stack_scratch_of(slot);
	struct stack_memory *head = stack_memory_of(slot, place);
	struct stack_memory *memory = stack_memory_of(slot, place + number);
	const struct stack_page *page;
	__u64 differences = 0;
	__u32 n_copied, n;

	if (!scratch || !head || !memory || memory->page_stamp != head->stamp + number)
		return false;
	page = &memory->page;
	n_copied = page->n_copied;
	if (n_copied > STACK_PAGE_WORDS ||
	    bpf_probe_read_user(scratch->def.words, n_copied * sizeof(__u64), (void *)page->start))
		return false;
	n = page->n;
	for (__u32 i = 0; i < STACK_PAGE_SLOTS && i < n; i++)
		differences |= scratch->def.words[page->at[i]] ^ page->words[i];
	return !differences;
}

/* Compares the registers that determined the walk's path. */
static __always_inline bool stack_registers_are(const struct stack_memory *memory,
						const struct stack_start *start)
{
	return (!memory->uses_bp || memory->start.bp == start->bp) &&
	       (!memory->uses_extra || memory->start.extra == start->extra);
}

/* Begins recording: done when a walk starts the same way for the second time. */
static __always_inline void stack_memory_begin_record(struct stack_scratch *scratch, __u32 slot)
{
	scratch->record.n_pages = 0;
	scratch->walk.recorder = slot + 1;
}

/* Inlined if possible; on older kernels all functions down to a walk share 512 bytes of stack. */
#if UNWIND_BEGINS_AT_CONTEXT
#define STACK_RECALL_FUNCTION static __always_inline
#else
#define STACK_RECALL_FUNCTION __noinline
#endif

/* Returns the id of the stack that a walk from here would find; 0: not cached. */
STACK_RECALL_FUNCTION __u64 stack_memory_recall(__u32 slot)
{
	struct stack_scratch *scratch = stack_scratch_of(slot);
	struct stack_memory *memory;
	__u32 place, i;

	if (!scratch)
		return 0;
	stack_start_take(&scratch->record.start, scratch);
	place = stack_memory_place(&scratch->record.start);
	memory = stack_memory_of(slot, place);
	if (!memory)
		return 0;
	if (!stack_start_is(&memory->start, &scratch->record.start)) {
		memory->start = scratch->record.start;
		memory->id = 0;
		return 0;
	}
	if (!memory->id) {
		stack_memory_begin_record(scratch, slot);
		return 0;
	}
	if (stack_registers_are(memory, &scratch->record.start)) {
		for (i = 0; i < STACK_MEMORY_PAGES && i < memory->n_pages; i++)
			if (!stack_memory_compare(slot, place, i))
				break;
		if (i == memory->n_pages)
			return memory->id;
	}
	memory->id = 0;
	return 0;
}

#else

static __always_inline int stack_memory_note(__u32 slot, __u64 addr, __u64 word)
{
	return 0;
}

static __always_inline int stack_memory_keep(__u32 slot)
{
	return 0;
}

static __always_inline __u64 stack_memory_recall(__u32 slot)
{
	return 0;
}

#endif
#endif
