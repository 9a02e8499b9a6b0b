// SPDX-License-Identifier: GPL-2.0-only
/*
 * Finds and reads the Go runtime's function table; see gopclntab.h. The table has its own section,
 * but external linkers put it into .data.rel.ro of position-independent programs (before Go 1.26),
 * and section headers may be missing: then the segments that are not executable are searched for
 * it. Addresses missing in the table are in the runtime's struct moduledata, which begins with the
 * addresses of the table and its parts.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/load.h"
#include "elf/elf64.h"
#include "elf/gopclntab.h"

/* ---- relative relocations ---- */

/*
 * Applies relative relocations (R_X86_64_RELATIVE, R_AARCH64_RELATIVE; System V gABI, chapter 5,
 * DT_RELA): addresses in a position-independent program that the dynamic linker writes at the
 * start. They are zero in the file, so readers of a table of pointers apply them to their copy.
 * DT_RELR relocations need nothing: their addends are in place.
 */

struct elfrelative {
	Elf64_Rela *relas; /* relocations of all types */
	size_t n;
	uint32_t type; /* relocation type to apply */
};

#define RELAS_MAX_BYTES	  (256u << 20)
#define DYNAMIC_MAX_BYTES (1u << 20)

static uint64_t dynamic_value(const Elf64_Dyn *dynamic, size_t n, int64_t tag)
{
	for (size_t i = 0; i < n && dynamic[i].d_tag != DT_NULL; i++)
		if (dynamic[i].d_tag == tag)
			return dynamic[i].d_un.d_val;
	return 0;
}

static void read_relocations(struct elfrelative *r, const struct elf64 *elf, uint64_t vaddr,
			     uint64_t bytes)
{
	if (!vaddr || !bytes)
		return;
	r->relas = elf64_read_vaddr(elf, vaddr, bytes, RELAS_MAX_BYTES);
	r->n = r->relas ? bytes / sizeof(*r->relas) : 0;
}

/* Reads the relocations; n is 0 if they are unreadable. Freed with elfrelative_free(). */
static void elfrelative_read(struct elfrelative *r, const struct elf64 *elf)
{
	Elf64_Phdr segment;
	Elf64_Dyn *dynamic;
	size_t n;

	*r = (struct elfrelative){ .type = elf->header.e_machine == EM_AARCH64
						   ? R_AARCH64_RELATIVE
						   : R_X86_64_RELATIVE };
	if (elf->header.e_type != ET_DYN || elf64_find_segment(elf, PT_DYNAMIC, &segment))
		return;
	dynamic = elf64_read(elf, segment.p_offset, segment.p_filesz, DYNAMIC_MAX_BYTES);
	if (!dynamic)
		return;
	n = segment.p_filesz / sizeof(*dynamic);
	read_relocations(r, elf, dynamic_value(dynamic, n, DT_RELA),
			 dynamic_value(dynamic, n, DT_RELASZ));
	free(dynamic);
}

static void elfrelative_free(struct elfrelative *r)
{
	free(r->relas);
	*r = (struct elfrelative){ .relas = NULL };
}

/* Applies the relocations to bytes, a copy of the file's contents at vaddr. */
static void elfrelative_apply(const struct elfrelative *r, void *bytes, uint64_t vaddr, size_t size)
{
	for (size_t i = 0; i < r->n; i++) {
		uint64_t at = r->relas[i].r_offset - vaddr;

		if (ELF64_R_TYPE(r->relas[i].r_info) == r->type && at < size &&
		    size - at >= sizeof(r->relas[i].r_addend))
			memcpy((char *)bytes + at, &r->relas[i].r_addend,
			       sizeof(r->relas[i].r_addend));
	}
}

#define TABLE_MAX_BYTES (256u << 20)
#define SEARCH_BYTES	(1u << 20) /* size of a read */
#define CHECKED_CALLS	32
#define STEPS_MAX	(1u << 20) /* steps per lookup: forged tables have millions */

/*
 * A layout of .gopclntab, identified by the table's first word: the differences between Go
 * releases. "struct _func" and "inlinedCall" are types of the runtime.
 */
struct go_layout {
	uint32_t magic;
	uint8_t entry_bytes; /* bytes of a code address or pointer: 8, or 4 for offsets */
	/* location of the first of five offsets in the header; 0: the table is one part */
	uint8_t parts_at;
	uint8_t functab_at;  /* offset of the function list in its part */
	uint8_t func_words;  /* words of struct _func between its first member and funcID */
	bool has_units;	     /* source files are numbered per compilation unit */
	uint8_t calls_index; /* index of the inlined calls among the function's pointers */
	uint8_t call_bytes, call_name_at, call_pc_at; /* size and offsets of inlinedCall */
};

#define GO_HEADER_BYTES 72 /* length of the longest header */
#define GO_CALLS_VALUES 2  /* index of the inlined calls among a function's value tables */

/* An inlined call: the inlined function's name, and the location of the call. */
struct go_call {
	int32_t name;
	uint32_t pc; /* relative to the function's start */
};

/*
 * Fields of struct moduledata (src/runtime/symtab.go), in words. Their offsets are the same since
 * Go 1.18.
 */
enum {
	MODULE_TABLE = 0,
	MODULE_NAMES = 1,
	MODULE_NAMES_LEN = 2,
	MODULE_NAMES_CAP = 3,
	MODULE_MIN_PC = 20,
	MODULE_TEXT = 22,
	MODULE_WORDS = 48, /* number of words read: gofunc is one of the last */
	MODULE_BYTES = MODULE_WORDS * 8,
	MODULE_GOFUNC_MIN = 32,
};

static const struct go_layout layouts[] = {
	{ .magic = 0xfffffffb, /* Go 1.2 */
	  .entry_bytes = 8,
	  .functab_at = 16,
	  .func_words = 7,
	  .calls_index = 4, /* since Go 1.13 */
	  .call_bytes = 20,
	  .call_name_at = 12,
	  .call_pc_at = 16 },
	{ .magic = 0xfffffffa, /* Go 1.16 */
	  .entry_bytes = 8,
	  .parts_at = 24,
	  .func_words = 8,
	  .has_units = true,
	  .calls_index = 3,
	  .call_bytes = 20,
	  .call_name_at = 12,
	  .call_pc_at = 16 },
	{ .magic = 0xfffffff0, /* Go 1.18 */
	  .entry_bytes = 4,
	  .parts_at = 32,
	  .func_words = 8,
	  .has_units = true,
	  .calls_index = 3,
	  .call_bytes = 20,
	  .call_name_at = 12,
	  .call_pc_at = 16 },
	{ .magic = 0xfffffff1, /* Go 1.20 */
	  .entry_bytes = 4,
	  .parts_at = 32,
	  .func_words = 9,
	  .has_units = true,
	  .calls_index = 3,
	  .call_bytes = 16,
	  .call_name_at = 4,
	  .call_pc_at = 8 },
};

/* A part of the file, with the address that it is mapped at. */
struct region {
	uint64_t offset, vaddr, bytes;
};

static struct region region_of_section(const Elf64_Shdr *sh)
{
	return (struct region){ sh->sh_offset, sh->sh_addr, sh->sh_size };
}

static struct region region_of_segment(const Elf64_Phdr *ph)
{
	return (struct region){ ph->p_offset, ph->p_vaddr, ph->p_filesz };
}

/* ---- the header ---- */

static const struct go_layout *layout_of(const uint8_t *header)
{
	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++)
		if (layouts[i].magic == load_u32(header))
			return &layouts[i];
	return NULL;
}

static uint32_t quantum_of(const struct elf64 *elf)
{
	return elf->header.e_machine == EM_X86_64 ? 1 : 4;
}

/* Tests a header: magic number, two zero bytes, instruction quantum, pointer size. */
static bool is_header(const struct elf64 *elf, const uint8_t *header)
{
	return layout_of(header) && !header[4] && !header[5] && header[6] == quantum_of(elf) &&
	       header[7] == 8;
}

static bool cut(const struct gopclntab *g, struct go_span *span, uint64_t from, uint64_t to)
{
	if (from > to || to > g->size)
		return false;
	*span = (struct go_span){ g->bytes + from, to - from };
	return true;
}

/* Cuts the span after its last zero byte, so that every string in it is terminated. */
static void cut_strings(struct go_span *span)
{
	const uint8_t *last = span->size ? memrchr(span->bytes, 0, span->size) : NULL;

	span->size = last ? (size_t)(last - span->bytes) + 1 : 0;
}

/* Locates the parts before Go 1.16: offsets are from the table's start; files follow functions. */
static bool read_single_part(struct gopclntab *g)
{
	uint64_t at =
		g->layout->functab_at + (2 * (uint64_t)g->n_funcs + 1) * g->layout->entry_bytes;

	g->functab = g->names = g->values = (struct go_span){ g->bytes, g->size };
	return at + 4 <= g->size && cut(g, &g->files, load_u32(g->bytes + at), g->size);
}

static bool read_parts(struct gopclntab *g)
{
	const uint8_t *at = g->bytes + g->layout->parts_at;
	uint64_t names = load_u64(at), units = load_u64(at + 8), files = load_u64(at + 16),
		 values = load_u64(at + 24), functab = load_u64(at + 32);

	if (g->layout->entry_bytes == 4)
		g->text = load_u64(at - 8);
	return cut(g, &g->names, names, units) && cut(g, &g->units, units, files) &&
	       cut(g, &g->files, files, values) && cut(g, &g->values, values, functab) &&
	       cut(g, &g->functab, functab, g->size);
}

static bool read_header(struct gopclntab *g)
{
	if (g->size < GO_HEADER_BYTES || !is_header(&g->elf, g->bytes))
		return false;
	g->layout = layout_of(g->bytes);
	g->quantum = quantum_of(&g->elf);
	g->n_funcs = load_u64(g->bytes + 8);
	if (!g->n_funcs || g->n_funcs > g->size / 8 ||
	    !(g->layout->parts_at ? read_parts(g) : read_single_part(g)) ||
	    g->layout->functab_at + (2 * g->n_funcs + 1) * g->layout->entry_bytes > g->functab.size)
		return false;
	cut_strings(&g->names);
	if (g->layout->has_units)
		cut_strings(&g->files);
	return true;
}

/* ---- the table ---- */

/* Reads the table in a region. 0 or -errno; -EINVAL: not a table. */
static int read_table(struct gopclntab *g, const struct elfrelative *relative,
		      const struct region *region)
{
	g->bytes = elf64_read(&g->elf, region->offset, region->bytes, TABLE_MAX_BYTES);
	if (!g->bytes)
		return -errno;
	g->size = region->bytes;
	g->vaddr = region->vaddr;
	elfrelative_apply(relative, g->bytes, g->vaddr, g->size);
	if (read_header(g))
		return 0;
	free(g->bytes);
	g->bytes = NULL;
	return -EINVAL;
}

/* Returns the header's offset in bytes[], which begin at vaddr, or size if there is none. */
static uint64_t find_header(const struct elf64 *elf, const uint8_t *bytes, uint64_t vaddr,
			    uint64_t size)
{
	uint64_t at = -vaddr & 7;

	while (at + GO_HEADER_BYTES <= size && !is_header(elf, bytes + at))
		at += 8;
	return at + GO_HEADER_BYTES <= size ? at : size;
}

/* Advances by `bytes` bytes. False: too few bytes are left for a header. */
static bool next_piece(struct region *left, uint64_t bytes)
{
	left->offset += bytes;
	left->vaddr += bytes;
	left->bytes -= bytes;
	return left->bytes >= GO_HEADER_BYTES;
}

/* Searches a segment for a header; the first one counts. 0, -ENODATA or another error. */
static int search_segment(struct gopclntab *g, const struct elfrelative *relative,
			  struct region left)
{
	do {
		uint64_t size = left.bytes < SEARCH_BYTES ? left.bytes : SEARCH_BYTES, at;
		uint8_t *bytes = elf64_read(&g->elf, left.offset, size, SEARCH_BYTES);

		if (!bytes)
			return -errno;
		at = find_header(&g->elf, bytes, left.vaddr, size);
		free(bytes);
		if (at < size) {
			next_piece(&left, at);
			return read_table(g, relative, &left);
		}
		if (size < SEARCH_BYTES)
			break;
	} while (next_piece(&left, SEARCH_BYTES - GO_HEADER_BYTES));
	return -ENODATA;
}

static int search_segments(struct gopclntab *g, const struct elfrelative *relative)
{
	Elf64_Phdr *segments = elf64_read_segments(&g->elf);
	uint64_t max_bytes = TABLE_MAX_BYTES;
	int err = -ENODATA;

	for (size_t i = 0; segments && err == -ENODATA && i < g->elf.header.e_phnum; i++) {
		if (segments[i].p_type != PT_LOAD || segments[i].p_flags & PF_X ||
		    segments[i].p_filesz > max_bytes)
			continue;
		max_bytes -= segments[i].p_filesz; /* a forged file may repeat a segment */
		err = search_segment(g, relative, region_of_segment(&segments[i]));
	}
	free(segments);
	return err;
}

static bool find_section(const struct elf64 *elf, Elf64_Shdr *found)
{
	return (!elf64_find_section(elf, ".gopclntab", found) ||
		!elf64_find_section(elf, ".data.rel.ro.gopclntab", found)) &&
	       found->sh_type == SHT_PROGBITS;
}

/* Returns true for a file with Go's sections, or without any: searching is expensive. */
static bool is_worth_searching(const struct elf64 *elf)
{
	Elf64_Shdr section;

	return !elf->n_sections || !elf64_find_section(elf, ".go.buildinfo", &section);
}

static bool has_known_layout(const struct elf64 *elf, const Elf64_Shdr *section)
{
	uint8_t *header = elf64_read(elf, section->sh_offset, GO_HEADER_BYTES, GO_HEADER_BYTES);
	bool is_known = header && is_header(elf, header);

	free(header);
	return is_known;
}

static int find_table(struct gopclntab *g, const struct elfrelative *relative)
{
	struct region region;
	Elf64_Shdr section;

	if (!find_section(&g->elf, &section))
		return search_segments(g, relative);
	if (!has_known_layout(&g->elf, &section))
		return -ENOTSUP;
	region = region_of_section(&section);
	return read_table(g, relative, &region);
}

/* ---- struct moduledata ---- */

static uint64_t module_word(const uint8_t *module, size_t i)
{
	return load_u64(module + 8 * i);
}

static bool is_module(const struct gopclntab *g, const uint8_t *p)
{
	uint64_t len = module_word(p, MODULE_NAMES_LEN);

	return module_word(p, MODULE_TABLE) == g->vaddr &&
	       module_word(p, MODULE_NAMES) == g->vaddr + (uint64_t)(g->names.bytes - g->bytes) &&
	       len && len == module_word(p, MODULE_NAMES_CAP) && len <= g->size;
}

static bool search_module(const struct gopclntab *g, const struct elfrelative *relative,
			  struct region region, uint8_t module[MODULE_BYTES])
{
	uint8_t *bytes = elf64_read(&g->elf, region.offset, region.bytes, TABLE_MAX_BYTES);
	uint64_t at = -region.vaddr & 7;
	bool found = false;

	if (!bytes)
		return false;
	elfrelative_apply(relative, bytes, region.vaddr, region.bytes);
	for (; !found && at + MODULE_BYTES <= region.bytes; at += 8)
		if (is_module(g, bytes + at)) {
			memcpy(module, bytes + at, MODULE_BYTES);
			found = true;
		}
	free(bytes);
	return found;
}

/* Finds struct moduledata, which has its own section since Go 1.26. */
static bool find_module(const struct gopclntab *g, const struct elfrelative *relative,
			uint8_t module[MODULE_BYTES])
{
	uint64_t max_bytes = TABLE_MAX_BYTES;
	Elf64_Phdr *segments;
	Elf64_Shdr section;
	bool found = false;

	if (!elf64_find_section(&g->elf, ".go.module", &section) &&
	    section.sh_type == SHT_PROGBITS &&
	    search_module(g, relative, region_of_section(&section), module))
		return true;
	segments = elf64_read_segments(&g->elf);
	for (size_t i = 0; segments && !found && i < g->elf.header.e_phnum; i++) {
		if (segments[i].p_type != PT_LOAD || !(segments[i].p_flags & PF_W) ||
		    segments[i].p_filesz < MODULE_BYTES || segments[i].p_filesz > max_bytes)
			continue;
		max_bytes -= segments[i].p_filesz;
		found = search_module(g, relative, region_of_segment(&segments[i]), module);
	}
	free(segments);
	return found;
}

/* Finds the base address of code, which the header lacks since Go 1.26. */
static int find_text(struct gopclntab *g, const struct elfrelative *relative)
{
	uint8_t module[MODULE_BYTES];

	if (g->layout->entry_bytes == 8 || g->text)
		return 0;
	if (!find_module(g, relative, module))
		return -ENOTSUP;
	g->text = module_word(module, MODULE_TEXT);
	return g->text + load_u32(g->functab.bytes) == module_word(module, MODULE_MIN_PC)
		       ? 0
		       : -ENOTSUP;
}

bool gopclntab_exists(const struct elf64 *elf)
{
	Elf64_Shdr section;

	return find_section(elf, &section) || !elf64_find_section(elf, ".go.buildinfo", &section);
}

static int read_all(struct gopclntab *g)
{
	struct elfrelative relative;
	int err;

	elfrelative_read(&relative, &g->elf);
	err = find_table(g, &relative);
	if (!err)
		err = find_text(g, &relative);
	elfrelative_free(&relative);
	return err;
}

int gopclntab_open(struct gopclntab *g, const struct elf64 *elf)
{
	Elf64_Shdr section;
	int err;

	*g = (struct gopclntab){ .elf = *elf };
	if (!find_section(elf, &section) && !is_worth_searching(elf))
		return -ENODATA;
	err = read_all(g);
	if (err)
		gopclntab_close(g);
	return err;
}

void gopclntab_close(struct gopclntab *g)
{
	free(g->bytes);
	*g = (struct gopclntab){ .bytes = NULL };
}

/* ---- functions ---- */

static const uint8_t *functab_entry(const struct gopclntab *g, size_t i)
{
	return g->functab.bytes + g->layout->functab_at + 2 * i * g->layout->entry_bytes;
}

/* Returns the start of function i; for i == n_funcs, the end of the last function. */
static uint64_t entry_of(const struct gopclntab *g, size_t i)
{
	const uint8_t *p = functab_entry(g, i);

	return g->layout->entry_bytes == 4 ? g->text + load_u32(p) : load_u64(p);
}

/* Locates the arrays after struct _func: offsets of value tables, then aligned pointers. */
static bool read_tail(const struct gopclntab *g, struct go_func *f, size_t at)
{
	size_t pointer_bytes = g->layout->entry_bytes;

	f->values_at = at;
	f->pointers_at = at + (size_t)f->n_values * 4;
	f->pointers_at = (f->pointers_at + pointer_bytes - 1) & ~(pointer_bytes - 1);
	return f->n_values <= g->functab.size / 4 &&
	       f->pointers_at + f->n_pointers * pointer_bytes <= g->functab.size;
}

/* Reads struct _func (src/runtime/runtime2.go). */
static bool read_func(const struct gopclntab *g, uint64_t at, struct go_func *f)
{
	const struct go_layout *layout = g->layout;
	size_t bytes = layout->entry_bytes + layout->func_words * 4 + 4;
	const uint8_t *p, *ids;

	if (at > g->functab.size || g->functab.size - at < bytes)
		return false;
	p = g->functab.bytes + at + layout->entry_bytes;
	ids = p + layout->func_words * 4;
	f->name = (int32_t)load_u32(p);
	f->frame_sizes = (int32_t)load_u32(p + 12);
	f->file_numbers = (int32_t)load_u32(p + 16);
	f->lines = (int32_t)load_u32(p + 20);
	f->n_values = load_u32(p + 24);
	f->unit = layout->has_units ? load_u32(p + 28) : 0;
	f->id = ids[0];
	f->flags = layout->has_units ? ids[1] : 0; /* always zero in Go 1.16 */
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
	       read_func(g, g->layout->entry_bytes == 4 ? load_u32(p) : load_u64(p), f);
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
 * Omits the text between the first and the last bracket. Before Go 1.18, brackets hold array
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

/* Reads a step: the value's change, with the sign in the lowest bit, and its range in quanta. */
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
	return v->end > v->start; /* false: the address has overflowed */
}

/* Returns the value at an address; -1: none. */
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

/* Finds a file before Go 1.16: `files` has a count, then offsets in the table, numbered from 1. */
static const char *single_part_file(const struct gopclntab *g, uint32_t number)
{
	if (g->files.size < 4 || number >= load_u32(g->files.bytes) || number >= g->files.size / 4)
		return NULL;
	return string_at(&g->names, load_u32(g->files.bytes + 4 * (size_t)number));
}

const char *gopclntab_file(const struct gopclntab *g, const struct go_func *f, uint64_t vaddr)
{
	int32_t number = value_at(g, f, f->file_numbers, vaddr);
	uint64_t index = (uint64_t)f->unit + (uint32_t)number;

	if (number < 0)
		return NULL;
	if (!g->layout->has_units)
		return single_part_file(g, (uint32_t)number);
	return index < g->units.size / 4
		       ? string_at(&g->files, load_u32(g->units.bytes + 4 * index))
		       : NULL;
}

/* ---- inlined calls ---- */

/* Finds the address of the function's inlined calls. False: it has none. */
static bool find_calls(const struct gopclntab *g, const struct go_func *f, uint64_t gofunc,
		       uint64_t *vaddr)
{
	const uint8_t *p = g->functab.bytes + f->pointers_at;
	uint32_t i = g->layout->calls_index;

	if (f->n_pointers <= i)
		return false;
	if (g->layout->entry_bytes == 8) {
		*vaddr = load_u64(p + 8 * i);
		return *vaddr;
	}
	*vaddr = gofunc + load_u32(p + 4 * i);
	return load_u32(p + 4 * i) != UINT32_MAX;
}

/* Reads inlined call number `index` of a function, relative to gofunc. False: none, or broken. */
static bool read_call(const struct gopclntab *g, const struct go_func *f, uint64_t gofunc,
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
	call->name = (int32_t)load_u32(p + layout->call_name_at);
	call->pc = load_u32(p + layout->call_pc_at);
	free(p);
	return true;
}

static bool is_name_start(const struct gopclntab *g, int32_t offset)
{
	return offset >= 0 && (uint32_t)offset < g->names.size &&
	       (!offset || !g->names.bytes[offset - 1]);
}

/*
 * Returns true if, with this gofunc, the first inlined calls of some functions are plausible. The
 * field's location in moduledata differs between releases, so each word is tried.
 */
static bool is_gofunc(const struct gopclntab *g, uint64_t gofunc)
{
	size_t n_checked = 0;
	struct go_call call;
	struct go_func f;

	for (size_t i = 0; i < g->n_funcs && n_checked < CHECKED_CALLS; i++) {
		if (!gopclntab_func(g, i, &f) || f.n_values <= GO_CALLS_VALUES ||
		    !load_u32(g->functab.bytes + f.values_at + 4 * GO_CALLS_VALUES))
			continue;
		if (!read_call(g, &f, gofunc, 0, &call) || !is_name_start(g, call.name) ||
		    call.pc >= f.end - f.start)
			return false;
		n_checked++;
	}
	return n_checked;
}

static void find_gofunc(struct gopclntab *g, const struct elfrelative *relative)
{
	uint8_t module[MODULE_BYTES];

	if (!find_module(g, relative, module))
		return;
	for (size_t i = MODULE_GOFUNC_MIN; !g->has_calls && i < MODULE_WORDS; i++) {
		g->gofunc = module_word(module, i);
		g->has_calls = is_gofunc(g, g->gofunc);
	}
}

/*
 * Locates the inlined calls, once: sets has_calls and gofunc. Before Go 1.18 absolute addresses
 * locate them. Before Go 1.13 they had another format and location, which is_gofunc() refuses.
 */
static void locate_calls(struct gopclntab *g)
{
	struct elfrelative relative;

	if (g->is_searched)
		return;
	g->is_searched = true;
	if (g->layout->entry_bytes == 8) {
		g->has_calls = is_gofunc(g, 0);
		return;
	}
	elfrelative_read(&relative, &g->elf);
	find_gofunc(g, &relative);
	elfrelative_free(&relative);
}

/* Finds the innermost function inlined at an address. False: none. */
static bool find_call(const struct gopclntab *g, const struct go_func *f, uint64_t vaddr,
		      struct go_call *call)
{
	const uint8_t *values = g->functab.bytes + f->values_at;
	int32_t index;

	if (!g->has_calls || f->n_values <= GO_CALLS_VALUES)
		return false;
	index = value_at(g, f, (int32_t)load_u32(values + 4 * GO_CALLS_VALUES), vaddr);
	return index >= 0 && read_call(g, f, g->gofunc, (uint32_t)index, call) &&
	       call->pc < f->end - f->start;
}

size_t gopclntab_frames(struct gopclntab *g, uint64_t vaddr, struct go_frame *frames, size_t max)
{
	struct go_call call;
	struct go_func f;

	if (!gopclntab_find(g, vaddr, &f))
		return 0;
	locate_calls(g);
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
