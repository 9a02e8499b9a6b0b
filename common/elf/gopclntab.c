// SPDX-License-Identifier: GPL-2.0-only
/* Reads the Go runtime's function table; see gopclntab.h. */
#include <stdlib.h>
#include <string.h>

#include "elf/gopclntab.h"
#include "elf/gopclntab_layout.h"

/* limit of one function's values: a forged table could have one per byte */
#define STEPS_MAX (1u << 20)

/* ---- functions ---- */

static const uint8_t *functab_entry(const struct gopclntab *g, size_t i)
{
	return g->functab.bytes + g->layout->functab_at + 2 * i * g->layout->entry_bytes;
}

/* Also for i == n_funcs: the end of the last function. */
static uint64_t entry_of(const struct gopclntab *g, size_t i)
{
	const uint8_t *p = functab_entry(g, i);

	return g->layout->entry_bytes == 4 ? g->text + go_u32(p) : go_u64(p);
}

/* struct _func is followed by offsets of value tables, then by aligned pointers. */
static bool read_tail(const struct gopclntab *g, struct go_func *f, size_t at)
{
	size_t pointer_bytes = g->layout->entry_bytes;

	f->values_at = at;
	f->pointers_at = at + (size_t)f->n_values * 4;
	f->pointers_at = (f->pointers_at + pointer_bytes - 1) & ~(pointer_bytes - 1);
	return f->n_values <= g->functab.size / 4 &&
	       f->pointers_at + f->n_pointers * pointer_bytes <= g->functab.size;
}

/* struct _func: src/runtime/runtime2.go. */
static bool read_func(const struct gopclntab *g, uint64_t at, struct go_func *f)
{
	const struct go_layout *layout = g->layout;
	size_t bytes = layout->entry_bytes + layout->func_words * 4 + 4;
	const uint8_t *p, *ids;

	if (at > g->functab.size || g->functab.size - at < bytes)
		return false;
	p = g->functab.bytes + at + layout->entry_bytes;
	ids = p + layout->func_words * 4;
	f->name = (int32_t)go_u32(p);
	f->frame_sizes = (int32_t)go_u32(p + 12);
	f->file_numbers = (int32_t)go_u32(p + 16);
	f->lines = (int32_t)go_u32(p + 20);
	f->n_values = go_u32(p + 24);
	f->unit = layout->has_units ? go_u32(p + 28) : 0;
	f->id = ids[0];
	f->flags = layout->has_units ? ids[1] : 0; /* zero in Go 1.16 */
	f->n_pointers = ids[3];
	return read_tail(g, f, at + bytes);
}

bool gopclntab_func(const struct gopclntab *g, size_t i, struct go_func *f)
{
	const uint8_t *p;

	if (i >= g->n_funcs)
		return false;
	f->start = entry_of(g, i);
	f->end = entry_of(g, i + 1);
	p = functab_entry(g, i) + g->layout->entry_bytes;
	return f->start < f->end &&
	       read_func(g, g->layout->entry_bytes == 4 ? go_u32(p) : go_u64(p), f);
}

bool gopclntab_find(const struct gopclntab *g, uint64_t vaddr, struct go_func *f)
{
	size_t low = 0, high = g->n_funcs;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (entry_of(g, middle) <= vaddr)
			low = middle + 1;
		else
			high = middle;
	}
	return low && gopclntab_func(g, low - 1, f) && vaddr - f->start < f->end - f->start;
}

/* ---- names ---- */

static const char *string_at(const struct go_span *span, uint64_t offset)
{
	return offset < span->size ? (const char *)span->bytes + offset : NULL;
}

const char *gopclntab_name(const struct gopclntab *g, int32_t offset)
{
	return offset < 0 ? NULL : string_at(&g->names, (uint32_t)offset);
}

/*
 * Leaves out what is between the first bracket and the last one. Before Go 1.18 brackets hold array
 * lengths only.
 */
size_t gopclntab_write_name(const struct gopclntab *g, char *to, const char *name, size_t n)
{
	const char *open = g->layout->entry_bytes == 4 ? memchr(name, '[', n) : NULL;
	const char *close = open ? memrchr(open, ']', n - (size_t)(open - name)) : NULL;
	size_t n_before, n_behind;

	if (!close) {
		memcpy(to, name, n);
		return n;
	}
	n_before = (size_t)(open + 1 - name);
	n_behind = n - (size_t)(close - name);
	memcpy(to, name, n_before);
	memcpy(to + n_before, "...", 3);
	memcpy(to + n_before + 3, close, n_behind);
	return n_before + 3 + n_behind;
}

/* ---- values by address ---- */

struct go_values go_values_begin(const struct gopclntab *g, const struct go_func *f, int32_t offset)
{
	struct go_values v = {
		.end = f->start, .quantum = g->quantum, .value = -1, .is_first = true
	};

	if (offset > 0 && (uint32_t)offset < g->values.size)
		v.left = (struct go_span){ g->values.bytes + offset,
					   g->values.size - (uint32_t)offset };
	return v;
}

static bool read_varint(struct go_span *left, uint32_t *value)
{
	*value = 0;
	for (int shift = 0; shift < 35 && left->size; shift += 7) {
		uint8_t byte = *left->bytes++;

		left->size--;
		*value |= (uint32_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return true;
	}
	return false;
}

/*
 * Reads a step: the change of the value, with the sign in the lowest bit, and the number of code
 * units that it applies to.
 */
bool go_values_next(struct go_values *v)
{
	uint32_t change, n_quanta;

	if (!read_varint(&v->left, &change) || (!change && !v->is_first) ||
	    !read_varint(&v->left, &n_quanta) || !n_quanta)
		return false;
	v->is_first = false;
	v->value = (int32_t)((uint32_t)v->value + (change & 1 ? ~(change >> 1) : change >> 1));
	v->start = v->end;
	v->end += (uint64_t)n_quanta * v->quantum;
	return v->end > v->start; /* otherwise it is beyond the last address */
}

/* -1: there is none. */
static int32_t value_at(const struct gopclntab *g, const struct go_func *f, int32_t offset,
			uint64_t vaddr)
{
	struct go_values v = go_values_begin(g, f, offset);

	for (size_t i = 0; i < STEPS_MAX && go_values_next(&v); i++)
		if (vaddr < v.end)
			return v.value;
	return -1;
}

/* ---- source files ---- */

/* Before Go 1.16: a count, and offsets in the table; files are numbered from 1. */
static const char *single_part_file(const struct gopclntab *g, uint32_t number)
{
	if (g->files.size < 4 || number >= go_u32(g->files.bytes) || number >= g->files.size / 4)
		return NULL;
	return string_at(&g->names, go_u32(g->files.bytes + 4 * (size_t)number));
}

const char *gopclntab_file(const struct gopclntab *g, const struct go_func *f, uint64_t vaddr)
{
	int32_t number = value_at(g, f, f->file_numbers, vaddr);
	uint64_t index = (uint64_t)f->unit + (uint32_t)number;

	if (number < 0)
		return NULL;
	if (!g->layout->has_units)
		return single_part_file(g, (uint32_t)number);
	return index < g->units.size / 4 ? string_at(&g->files, go_u32(g->units.bytes + 4 * index))
					 : NULL;
}

/* ---- inlined calls ---- */

/* Finds the function's inlined calls; false: it has none. */
static bool find_calls(const struct gopclntab *g, const struct go_func *f, uint64_t gofunc,
		       uint64_t *vaddr)
{
	const uint8_t *p = g->functab.bytes + f->pointers_at;
	uint32_t i = g->layout->calls_index;

	if (f->n_pointers <= i)
		return false;
	if (g->layout->entry_bytes == 8) {
		*vaddr = go_u64(p + 8 * i);
		return *vaddr;
	}
	*vaddr = gofunc + go_u32(p + 4 * i);
	return go_u32(p + 4 * i) != UINT32_MAX;
}

bool gopclntab_read_call(const struct gopclntab *g, const struct go_func *f, uint64_t gofunc,
			 uint32_t index, struct go_call *call)
{
	const struct go_layout *layout = g->layout;
	uint64_t vaddr;
	uint8_t *p;

	if (!find_calls(g, f, gofunc, &vaddr))
		return false;
	p = elf64_read_vaddr(&g->elf, vaddr + (uint64_t)index * layout->call_bytes,
			     layout->call_bytes, layout->call_bytes);
	if (!p)
		return false;
	call->name = (int32_t)go_u32(p + layout->call_name_at);
	call->pc = go_u32(p + layout->call_pc_at);
	free(p);
	return true;
}

/* Finds the innermost function that was inlined at an address. False: none was. */
static bool find_call(const struct gopclntab *g, const struct go_func *f, uint64_t vaddr,
		      struct go_call *call)
{
	const uint8_t *values = g->functab.bytes + f->values_at;
	int32_t index;

	if (!g->has_calls || f->n_values <= GO_CALLS_VALUES)
		return false;
	index = value_at(g, f, (int32_t)go_u32(values + 4 * GO_CALLS_VALUES), vaddr);
	return index >= 0 && gopclntab_read_call(g, f, g->gofunc, (uint32_t)index, call) &&
	       call->pc < f->end - f->start;
}

size_t gopclntab_frames(struct gopclntab *g, uint64_t vaddr, struct go_frame *frames, size_t max)
{
	struct go_call call;
	struct go_func f;

	if (!gopclntab_find(g, vaddr, &f))
		return 0;
	gopclntab_find_calls(g);
	for (size_t n = 0; n < max; n++) {
		bool is_inlined = find_call(g, &f, vaddr, &call);
		int32_t line = value_at(g, &f, f.lines, vaddr);

		frames[n] = (struct go_frame){
			.function = gopclntab_name(g, is_inlined ? call.name : f.name),
			.file = gopclntab_file(g, &f, vaddr),
			.line = line > 0 ? (uint32_t)line : 0,
			.pc = vaddr,
		};
		if (!is_inlined)
			return n + 1;
		vaddr = f.start + call.pc;
	}
	return max;
}
