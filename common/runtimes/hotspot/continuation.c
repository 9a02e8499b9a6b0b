// SPDX-License-Identifier: GPL-2.0-only
/* Finds stubs of virtual threads; see continuation.h. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/load.h"
#include "base/peek.h"
#include "runtimes/hotspot/blob.h"
#include "runtimes/hotspot/continuation.h"
#include "runtimes/hotspot/method.h"

#define SINCE	      21
#define BLOCKS_MAX    16384
#define CODE_BYTES    512
#define THREADS_TRIED 16
#define DTV_WORDS     64
#define BLOCK_WORDS   16 /* words of libjvm's thread-local variables; it has two or three */

struct search {
	const struct hotspot_vm *vm;
	pid_t pid;
	struct hotspot_layout *layout;
};

/* Reads the location from "mov n(%r15),%rsp" in the stubs: 21 to 24 don't export it. */
static bool read_entry_offset(const struct search *s)
{
	static const uint8_t load[] = { 0x49, 0x8b, 0xa7 };
	uint8_t code[CODE_BYTES];
	size_t n = peek(s->pid, s->layout->continuation_low, code, sizeof(code));
	const uint8_t *at = memmem(code, n, load, sizeof(load));
	uint32_t offset;

	if (!at || at + sizeof(load) + sizeof(offset) > code + n)
		return false;
	offset = load_u32(at + sizeof(load));
	s->layout->thread_entry = (uint16_t)offset;
	return offset <= UINT16_MAX;
}

static bool find_stubs(const struct search *s)
{
	const struct hotspot_heap *heap = hotspot_blob_heap(s->layout, s->layout->interpreter_low);
	uint64_t at = heap ? heap->low : 0;
	struct hotspot_blob blob;

	for (size_t i = 0; heap && i < BLOCKS_MAX; i++) {
		if (!hotspot_blob_next(s->layout, s->pid, &at, heap->high, &blob))
			return false;
		if (!blob.is_used || !strstr(blob.name, HOTSPOT_CONTINUATION))
			continue;
		s->layout->continuation_low = blob.begin;
		s->layout->continuation_high = blob.end;
		s->layout->thread_entry = (uint16_t)s->vm->fields.thread_entry;
		return s->vm->fields.thread_entry != HOTSPOT_NONE || read_entry_offset(s);
	}
	return false;
}

/* Returns true for the wrapper of Continuation.enterSpecial. */
static bool is_entry(const struct search *s, const struct hotspot_blob *blob)
{
	char *name = NULL;
	bool is;

	if (blob->is_used && !strcmp(blob->name, "native nmethod"))
		name = hotspot_method_name(s->layout, s->pid, blob->method);
	is = name && !strcmp(name, "jdk.internal.vm.Continuation.enterSpecial");
	free(name);
	return is;
}

/* Searches the wrapper, which is made before most methods are compiled. */
static uint64_t find_wrapper(const struct search *s, const struct hotspot_heap *heap)
{
	uint64_t at = heap->low;
	struct hotspot_blob blob;

	for (size_t i = 0; i < BLOCKS_MAX; i++) {
		if (!hotspot_blob_next(s->layout, s->pid, &at, heap->high, &blob))
			return 0;
		if (is_entry(s, &blob))
			return blob.begin + (uint64_t)(int64_t)blob.frame_complete;
	}
	return 0;
}

static bool find_return(const struct search *s, uint64_t bias)
{
	uint64_t variable = s->vm->fields.continuation_return, found = 0;

	if (variable)
		found = peek_u64(s->pid, variable + bias);
	for (size_t i = 0; !variable && !found && i < HOTSPOT_HEAPS; i++)
		found = find_wrapper(s, &s->layout->heaps[i]);
	s->layout->continuation_return = found;
	return found;
}

/* ---- the current JavaThread ---- */

static size_t find_word(const uint64_t *words, size_t n, uint64_t word)
{
	size_t i = 0;

	while (i < n && words[i] != word)
		i++;
	return i;
}

/* Finds the first word of a thread's local variables that points to the thread. */
static bool find_location(const struct search *s, uint64_t thread)
{
	const struct hotspot_fields *f = &s->vm->fields;
	uint64_t os = peek_u64(s->pid, thread + (uint64_t)f->thread_os),
		 pointer = peek_u64(s->pid, os + (uint64_t)f->os_pthread),
		 dtv = peek_u64(s->pid, pointer + 8), entries[DTV_WORDS], block[BLOCK_WORDS];
	size_t n = peek(s->pid, dtv, entries, sizeof(entries)) / sizeof(*entries);

	for (size_t i = 1; i < n; i++) {
		size_t n_block = peek(s->pid, entries[i], block, sizeof(block)) / sizeof(*block),
		       at = find_word(block, n_block, thread);

		if (at == n_block)
			continue;
		s->layout->dtv_entry = (uint16_t)(i * sizeof(*entries));
		s->layout->thread_in_block = (uint16_t)(at * sizeof(*block));
		return true;
	}
	return false;
}

/* Finds the variable by two threads, which have to agree. */
static bool find_thread(const struct search *s, uint64_t bias)
{
	const struct hotspot_fields *f = &s->vm->fields;
	uint64_t list = peek_u64(s->pid, f->threads + bias), threads[THREADS_TRIED],
		 data = peek_u64(s->pid, list + (uint64_t)f->threads_data);
	uint32_t n = peek_u32(s->pid, list + (uint64_t)f->threads_length);
	unsigned int n_same = 0;

	n = n < THREADS_TRIED ? n : THREADS_TRIED;
	if (!peek_all(s->pid, data, threads, n * sizeof(*threads)))
		return false;
	for (uint32_t i = 0; i < n && n_same < 2; i++) {
		const struct hotspot_layout before = *s->layout;

		if (!find_location(s, threads[i]))
			continue;
		n_same = before.dtv_entry == s->layout->dtv_entry &&
					 before.thread_in_block == s->layout->thread_in_block
				 ? n_same + 1
				 : 1;
	}
	return n_same >= 2;
}

void hotspot_continuation_find(const struct hotspot_vm *vm, pid_t pid, uint64_t bias,
			       struct hotspot_layout *layout)
{
	const struct hotspot_fields *f = &vm->fields;
	struct search s = { vm, pid, layout };

	if (vm->version < SINCE || !f->threads || f->threads_length < 0 || f->threads_data < 0 ||
	    f->thread_os < 0 || f->os_pthread < 0)
		return;
	if (!find_stubs(&s) || !find_return(&s, bias) || !find_thread(&s, bias))
		layout->continuation_low = layout->continuation_high = 0;
}
