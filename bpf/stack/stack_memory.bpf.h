/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Cache of walks of user stacks, since threads block in the same few locations. A walk is a
 * function of its initial registers, the process's tables, and the words that it reads. These are
 * cached with the stack id: if they are the same again, so is the stack, and its id is known
 * without walking, hashing or sending.
 *
 * Most words are close together: they are copied for comparison in a few pieces ("pages"). Objects
 * of runtimes are distant: each is read by itself, and compared by its digest. The cache is per
 * CPU, and only programs that hold the CPU's first slot use it, so nothing else changes it
 * meanwhile. New entries replace old ones.
 *
 * Only complete walks that depend on nothing else are cached: none with decoded instructions, or
 * with registers that few rules use. A runtime's walk records what it reads, or ends recording.
 *
 * Distant objects, parts of words, selectors and threads are compared only if a runtime is walked;
 * else the code that compares them is dead for the verifier.
 *
 * Used by programs that define STACK_RECURS, because their stacks recur.
 */
#ifndef STACK_MEMORY_BPF_H
#define STACK_MEMORY_BPF_H

#include "runtimes/runtime_state.bpf.h"
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

#define STACK_MEMORY_FAILED 7 /* a power of two, minus one: one of 2^7 walks is recorded */

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

/* Returns a number for the current thread; never 0. */
static __always_inline __u64 stack_memory_thread(void)
{
	return runtime_mix(runtime_thread(), current_thread_base()) | 1;
}

/* Returns the place of the element that a selector's value leads to. */
static __always_inline __u32 stack_memory_select(__u32 place, __u64 word)
{
	return place ^ word * 0x9e3779b97f4a7c15ULL >> 40;
}

/* ---- recording a walk ---- */

/* Returns page n. The barrier preserves the mask, which only the verifier needs. */
static __always_inline struct stack_page *stack_record_at(struct stack_record *record, __u32 n)
{
	barrier_var(n);
	return &record->pages[n & (STACK_MEMORY_PAGES - 1)];
}

/* Returns a new page of the record; NULL: it is full. */
static __always_inline struct stack_page *stack_record_begin(struct stack_record *record)
{
	struct stack_page *page = stack_record_at(record, record->n_pages);

	if (record->n_pages >= STACK_MEMORY_PAGES)
		return NULL;
	record->n_pages++;
	page->n = page->n_words = 0;
	page->n_below = STACK_PAGE_WORDS;
	return page;
}

/*
 * Returns 1 if a page of words close to each other has space for the word, else 0. Has no branch:
 * the verifier would follow both ways.
 */
static __always_inline __u64 stack_page_room(const struct stack_page *page, __u64 addr)
{
	__u64 offset = addr - page->start;
	__u64 is_inside = (offset - STACK_PAGE_WORDS * sizeof(__u64)) & ~offset;
	__u64 has_slots = (__u64)page->n - STACK_PAGE_SLOTS, is_near = (__u64)page->is_far - 1;

	return (is_inside & has_slots & is_near) >> 63;
}

/* Returns the number of a page that has space for the word; 0: none. */
__noinline __u32 stack_record_find(__u32 slot, __u64 addr)
{
	struct stack_scratch *scratch = stack_scratch_of(slot);
	__u64 found = 0, room;

	if (!scratch)
		return 0;
	for (__u64 i = 0; i < STACK_MEMORY_PAGES && i < scratch->record.n_pages; i++) {
		room = stack_page_room(&scratch->record.pages[i], addr);
		barrier_var(room);
		found += (i + 1 - found) & -room;
	}
	return found;
}

/* Returns the latest page if it has space for the word, or a new one, `below` bytes lower. */
static __always_inline struct stack_page *stack_record_near(struct stack_record *record, __u64 addr,
							    __u32 below)
{
	struct stack_page *page = stack_record_at(record, record->n_near - 1);

	if (record->n_near && stack_page_room(page, addr))
		return page;
	page = stack_record_begin(record);
	if (!page)
		return NULL;
	record->n_near = record->n_pages;
	page->start = addr - below;
	page->is_far = false;
	return page;
}

static __always_inline struct stack_page *stack_record_far(struct stack_record *record)
{
	struct stack_page *page = stack_record_at(record, record->n_far - 1);

	if (record->n_far && page->n < STACK_PAGE_FAR)
		return page;
	page = stack_record_begin(record);
	if (!page)
		return NULL;
	record->n_far = record->n_pages;
	record->far_pages |= 1U << ((record->n_pages - 1) & (STACK_MEMORY_PAGES - 1));
	page->is_far = true;
	return page;
}

static __always_inline void stack_page_add(struct stack_page *page, __u32 at, __u64 word,
					   __u32 bytes)
{
	__u32 n = page->n;

	barrier_var(n);
	n &= STACK_PAGE_SLOTS - 1;
	page->at[n] = at | bytes << 8;
	page->words[n] = word;
	page->n = n + 1;
	if (page->n_words <= at)
		page->n_words = at + 1;
	if (page->n_below > at)
		page->n_below = at;
}

static __always_inline void stack_record_add(struct stack_scratch *scratch, struct stack_page *page,
					     __u64 addr, __u64 word, __u32 bytes)
{
	if (page && !(addr & 7))
		stack_page_add(page, (addr - page->start) / sizeof(word), word, bytes);
	else
		scratch->walk.recorder = 0;
}

/* Records a word that determines the walk's path. */
__noinline int stack_memory_note(__u32 slot, __u64 addr, __u64 word)
{
	struct stack_scratch *scratch = stack_scratch_of(slot);

	if (scratch)
		stack_record_add(scratch,
				 stack_record_near(&scratch->record, addr, STACK_PAGE_BELOW), addr,
				 word, 0);
	return 0;
}

/*
 * Records a word, or some of its STACK_BYTES(), in any page that has space for it. below: bytes for
 * later words at lower addresses, if a page begins.
 */
__noinline int stack_memory_note_some(__u32 slot, __u64 addr, __u64 word, __u32 bytes, __u32 below)
{
	struct stack_scratch *scratch = stack_scratch_of(slot);
	struct stack_page *page;
	__u32 found;

	if (!scratch || !scratch->walk.recorder)
		return 0;
	found = stack_record_find(slot, addr);
	page = found ? stack_record_at(&scratch->record, found - 1)
		     : stack_record_near(&scratch->record, addr, below);
	stack_record_add(scratch, page, addr, word, bytes);
	return 0;
}

/* Returns true if a page has space for words at the address, or may begin for them. */
static __always_inline bool stack_memory_has_window(__u32 slot, const struct stack_scratch *scratch,
						    __u64 addr)
{
	return scratch->record.n_pages < STACK_MAX_WINDOWS || stack_record_find(slot, addr);
}

/* Records an object of n words, by its digest. */
__noinline int stack_memory_note_far(__u32 slot, __u64 addr, __u32 n_words, __u64 digest)
{
	struct stack_scratch *scratch = stack_scratch_of(slot);
	struct stack_page *page;
	__u32 n;

	if (!scratch || !scratch->walk.recorder)
		return 0;
	page = stack_record_far(&scratch->record);
	if (!page || addr >> 56) {
		scratch->walk.recorder = 0;
		return 0;
	}
	n = page->n;
	barrier_var(n);
	n &= STACK_PAGE_FAR - 1;
	page->words[2 * n] = addr | (__u64)n_words << 56;
	page->words[2 * n + 1] = digest;
	page->n = n + 1;
	return 0;
}

/* Records n words as they are now; ends recording if they can't be read. */
static __always_inline void stack_memory_note_now(__u32 slot, struct stack_scratch *scratch,
						  __u64 addr, __u32 n)
{
	if (bpf_probe_read_user(scratch->record.object, n * sizeof(__u64), (void *)addr))
		scratch->walk.recorder = 0;
	else
		stack_memory_note_far(slot, addr, n, stack_digest(scratch->record.object, n));
}

/* Returns true if what the walk reads has to be recorded. */
static __always_inline bool stack_memory_records(const struct stack_scratch *scratch)
{
	return scratch->walk.recorder;
}

/* Records that the walk depends on the thread. selector: see struct stack_memory. */
static __always_inline void stack_memory_note_thread(struct stack_scratch *scratch, __u64 selector,
						     __u64 selected)
{
	scratch->record.thread = stack_memory_thread();
	scratch->record.selector = selector;
	scratch->record.selected = selected;
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

/* Returns the place for the recorded walk, to which the element for its beginning leads. */
static __always_inline __u32 stack_memory_place_record(__u32 slot,
						       const struct stack_record *record)
{
	struct stack_memory *memory = stack_memory_of(slot, record->place);

	if (!runtime_settings.kinds || !memory || !record->selector || record->is_selected)
		return record->place;
	memory->selector = record->selector;
	memory->id = 0;
	return stack_memory_select(record->place, record->selected);
}

/* Notes that recording a walk was in vain. */
static __always_inline void stack_memory_fail(struct stack_memory *memory)
{
	if (!memory)
		return;
	memory->id = 0;
	if (memory->n_failed < STACK_MEMORY_FAILED)
		memory->n_failed++;
}

/* Stores the recorded walk if it is complete and its definition has been sent. */
__noinline int stack_memory_keep(__u32 slot)
{
	struct stack_scratch *scratch = stack_scratch_of(slot);
	struct stack_memory *head;
	__u64 stamp;
	__u32 n, place;

	if (!scratch || !scratch->record.has_begun)
		return 0;
	scratch->record.has_begun = false;
	if (!scratch->walk.recorder || scratch->lacks_definition ||
	    scratch->def.reason != UNWIND_COMPLETE) {
		stack_memory_fail(stack_memory_of(slot, scratch->record.place));
		return 0;
	}
	n = scratch->record.n_pages;
	place = stack_memory_place_record(slot, &scratch->record);
	stamp = bpf_ktime_get_ns() * STACK_MEMORY_PAGES;
	for (__u32 i = 0; i < STACK_MEMORY_PAGES && i < n; i++)
		stack_memory_keep_page(slot, place, i, stamp);
	head = stack_memory_of(slot, place);
	if (!head)
		return 0;
	if (!stack_start_is(&head->start, &scratch->record.start)) {
		head->selector = 0;
		head->n_failed = head->n_walks = 0;
	}
	head->stamp = stamp;
	head->thread = scratch->record.thread;
	head->n_pages = n;
	head->far_pages = scratch->record.far_pages;
	head->uses_bp = scratch->walk.uses_bp;
	head->uses_extra = scratch->walk.uses_extra;
	head->start = scratch->record.start;
	head->id = scratch->def.id;
	return 0;
}

/* Returns true if an object's words have the digest; the address contains the number of words. */
__noinline int stack_object_is(__u32 slot, __u64 at, __u64 digest)
{
	struct stack_scratch *scratch = stack_scratch_of(slot);
	__u64 n = at >> 56;

	if (!scratch || n > STACK_FAR_WORDS ||
	    bpf_probe_read_user(scratch->record.object, n * sizeof(__u64),
				(void *)(at & ~0ULL >> 8)))
		return false;
	return stack_digest(scratch->record.object, n) == digest;
}

/* Returns page `number` of the stack at `place`; NULL: another stack has taken its element. */
static __always_inline const struct stack_page *stack_memory_page(__u32 slot, __u32 place,
								  __u32 number)
{
	struct stack_memory *head = stack_memory_of(slot, place);
	struct stack_memory *memory = stack_memory_of(slot, place + number);

	if (!head || !memory || memory->page_stamp != head->stamp + number)
		return NULL;
	return &memory->page;
}

/* Compares the objects of a cached page. */
__noinline int stack_memory_compare_far(__u32 slot, __u32 place, __u32 number)
{
	const struct stack_page *page = stack_memory_page(slot, place, number);

	if (!page)
		return false;
	for (__u32 i = 0; i < STACK_PAGE_FAR && i < page->n; i++)
		if (!stack_object_is(slot, page->words[2 * i], page->words[2 * i + 1]))
			return false;
	return true;
}

/* Returns the difference between the compared bytes of two words: see struct stack_page. */
static __always_inline __u64 stack_difference(__u64 a, __u64 b, __u32 at)
{
	if (!runtime_settings.kinds)
		return a ^ b;
	return (a ^ b) << ((at >> 5 & 0x38) | (at >> 13 & 6)) >> (at >> 8 & 0x38);
}

/*
 * Compares the words of a cached page. Copies the memory to def.words, which a cached stack does
 * not use.
 */
__noinline int stack_memory_compare(__u32 slot, __u32 place, __u32 number)
{
	const struct stack_page *page = stack_memory_page(slot, place, number);
	struct stack_scratch *scratch = stack_scratch_of(slot);
	__u64 differences = 0;
	__u32 n_words, at;

	if (!scratch || !page)
		return false;
	n_words = page->n_words - page->n_below;
	if (n_words > STACK_PAGE_WORDS ||
	    bpf_probe_read_user(scratch->def.words, n_words * sizeof(__u64),
				(void *)(page->start + page->n_below * sizeof(__u64))))
		return false;
	for (__u32 i = 0; i < STACK_PAGE_SLOTS && i < page->n; i++) {
		at = page->at[i];
		differences |= stack_difference(
			scratch->def.words[(at - page->n_below) & (STACK_PAGE_WORDS - 1)],
			page->words[i], at);
	}
	return !differences;
}

/* Compares the registers that determined the walk's path. */
static __always_inline bool stack_registers_are(const struct stack_memory *memory,
						const struct stack_start *start)
{
	return (!memory->uses_bp || memory->start.bp == start->bp) &&
	       (!memory->uses_extra || memory->start.extra == start->extra);
}

static __always_inline bool stack_memory_thread_is(const struct stack_memory *memory)
{
	return !runtime_settings.kinds || !memory->thread ||
	       memory->thread == stack_memory_thread();
}

/*
 * Begins to record a walk that starts like an earlier one. Recording costs more than a walk, so
 * after recordings in vain, only one of several walks is recorded.
 */
static __always_inline void stack_memory_begin_record(struct stack_scratch *scratch,
						      struct stack_memory *memory, __u32 slot)
{
	if (++memory->n_walks & ((1 << (memory->n_failed & STACK_MEMORY_FAILED)) - 1))
		return;
	scratch->record.n_pages = scratch->record.n_near = scratch->record.n_far = 0;
	scratch->record.far_pages = 0;
	scratch->record.thread = scratch->record.selector = 0;
	scratch->record.has_begun = true;
	scratch->walk.recorder = slot + 1;
}

/* Inlined if possible; on older kernels all functions down to a walk share 512 bytes of stack. */
#if UNWIND_BEGINS_AT_CONTEXT
#define STACK_RECALL_FUNCTION static __always_inline
#else
#define STACK_RECALL_FUNCTION __noinline
#endif

/*
 * Follows the element's selector to the element of a stack with a runtime's frames. Returns the
 * element itself if it has no selector.
 */
static __always_inline struct stack_memory *
stack_memory_follow(__u32 slot, struct stack_record *record, struct stack_memory *memory)
{
	__u64 word = 0;

	if (!runtime_settings.kinds || !memory || !memory->selector ||
	    !stack_start_is(&memory->start, &record->start))
		return memory;
	bpf_probe_read_user(&word, sizeof(word), (void *)memory->selector);
	record->place = stack_memory_select(record->place, word);
	record->is_selected = true;
	return stack_memory_of(slot, record->place);
}

/* Compares page `number` with the traced program's memory. */
__noinline int stack_memory_page_is(__u32 slot, __u32 place, __u32 number, __u32 far_pages)
{
	if (runtime_settings.kinds && far_pages >> number & 1)
		return stack_memory_compare_far(slot, place, number);
	return stack_memory_compare(slot, place, number);
}

/* Returns the id of the stack that a walk from here would find; 0: not cached. */
STACK_RECALL_FUNCTION __u64 stack_memory_recall(__u32 slot)
{
	struct stack_scratch *scratch = stack_scratch_of(slot);
	struct stack_memory *memory;
	struct stack_record *record;
	__u32 i;

	if (!scratch)
		return 0;
	record = &scratch->record;
	stack_start_take(&record->start, scratch);
	record->place = stack_memory_place(&record->start);
	record->is_selected = record->has_begun = false;
	memory = stack_memory_follow(slot, record, stack_memory_of(slot, record->place));
	if (!memory)
		return 0;
	if (!stack_start_is(&memory->start, &record->start)) {
		memory->start = record->start;
		memory->id = memory->selector = 0;
		memory->n_failed = memory->n_walks = 0;
		return 0;
	}
	if (!memory->id) {
		stack_memory_begin_record(scratch, memory, slot);
		return 0;
	}
	if (stack_registers_are(memory, &record->start) && stack_memory_thread_is(memory)) {
		for (i = 0; i < STACK_MEMORY_PAGES && i < memory->n_pages; i++)
			if (!stack_memory_page_is(slot, record->place, i, memory->far_pages))
				break;
		if (i == memory->n_pages) {
			memory->n_failed = 0;
			return memory->id;
		}
	}
	if (runtime_settings.kinds && memory->thread)
		stack_memory_fail(memory);
	memory->id = 0;
	return 0;
}

#else

static __always_inline int stack_memory_note(__u32 slot, __u64 addr, __u64 word)
{
	return 0;
}

static __always_inline int stack_memory_note_some(__u32 slot, __u64 addr, __u64 word, __u32 bytes,
						  __u32 below)
{
	return 0;
}

static __always_inline bool stack_memory_has_window(__u32 slot, const struct stack_scratch *scratch,
						    __u64 addr)
{
	return false;
}

static __always_inline int stack_memory_note_far(__u32 slot, __u64 addr, __u32 n_words,
						 __u64 digest)
{
	return 0;
}

static __always_inline void stack_memory_note_now(__u32 slot, struct stack_scratch *scratch,
						  __u64 addr, __u32 n)
{
}

static __always_inline bool stack_memory_records(const struct stack_scratch *scratch)
{
	return false;
}

static __always_inline void stack_memory_note_thread(struct stack_scratch *scratch, __u64 selector,
						     __u64 selected)
{
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

/* Records a distant word, which is its own digest. */
static __always_inline void stack_memory_note_word(__u32 slot, __u64 addr, __u64 word)
{
	stack_memory_note_far(slot, addr, 1, word);
}

#endif
