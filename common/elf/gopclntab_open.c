// SPDX-License-Identifier: GPL-2.0-only
/*
 * Finds the Go runtime's function table; see gopclntab.h. It has a section of its own, but external
 * linkers put it into .data.rel.ro of position-independent programs (before Go 1.26), and section
 * headers may be missing: then it is searched for in what is mapped without being executable.
 * Addresses that the table itself lacks are in the runtime's struct moduledata, which begins with
 * the addresses of the table and its parts.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "elf/elfrelative.h"
#include "elf/gopclntab.h"
#include "elf/gopclntab_layout.h"

#define TABLE_MAX_BYTES (256u << 20)
#define SEARCH_BYTES	(1u << 20) /* per read */
#define CHECKED_CALLS	32

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

/* A part of the file and the address that it is mapped at. */
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
		if (layouts[i].magic == go_u32(header))
			return &layouts[i];
	return NULL;
}

static uint32_t quantum_of(const struct elf64 *elf)
{
	return elf->header.e_machine == EM_X86_64 ? 1 : 4;
}

/* The header: magic number, two zero bytes, instruction quantum, pointer size. */
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

/* Cuts after the last zero byte, so that every string in it is terminated. */
static void cut_strings(struct go_span *span)
{
	const uint8_t *last = span->size ? memrchr(span->bytes, 0, span->size) : NULL;

	span->size = last ? (size_t)(last - span->bytes) + 1 : 0;
}

/* Before Go 1.16, offsets count from the table's start, and the files follow the functions. */
static bool read_single_part(struct gopclntab *g)
{
	uint64_t at =
		g->layout->functab_at + (2 * (uint64_t)g->n_funcs + 1) * g->layout->entry_bytes;

	g->functab = g->names = g->values = (struct go_span){ g->bytes, g->size };
	return at + 4 <= g->size && cut(g, &g->files, go_u32(g->bytes + at), g->size);
}

static bool read_parts(struct gopclntab *g)
{
	const uint8_t *at = g->bytes + g->layout->parts_at;
	uint64_t names = go_u64(at), units = go_u64(at + 8), files = go_u64(at + 16),
		 values = go_u64(at + 24), functab = go_u64(at + 32);

	if (g->layout->entry_bytes == 4)
		g->text = go_u64(at - 8);
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
	g->n_funcs = go_u64(g->bytes + 8);
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

/* 0, or -errno: -EINVAL if it is not a table, by read_header(). */
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

/* Returns the header's offset in bytes[], or size if there is none. bytes begin at vaddr. */
static uint64_t find_header(const struct elf64 *elf, const uint8_t *bytes, uint64_t vaddr,
			    uint64_t size)
{
	uint64_t at = -vaddr & 7;

	while (at + GO_HEADER_BYTES <= size && !is_header(elf, bytes + at))
		at += 8;
	return at + GO_HEADER_BYTES <= size ? at : size;
}

/* Advances past the segment's first bytes, less those in which a header may begin. */
static bool next_piece(struct region *left, uint64_t bytes)
{
	left->offset += bytes;
	left->vaddr += bytes;
	left->bytes -= bytes;
	return left->bytes >= GO_HEADER_BYTES;
}

/* The first header counts: two would be two programs. */
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
		max_bytes -= segments[i].p_filesz; /* even if a forged file repeats the candidate */
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

/* Searching takes time: only files with Go's sections, or without any, are searched. */
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
	return go_u64(module + 8 * i);
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

/* Since Go 1.26 it has a section of its own. */
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

/* Since Go 1.26 the header doesn't say where the text is. */
static int find_text(struct gopclntab *g, const struct elfrelative *relative)
{
	uint8_t module[MODULE_BYTES];

	if (g->layout->entry_bytes == 8 || g->text)
		return 0;
	if (!find_module(g, relative, module))
		return -ENOTSUP;
	g->text = module_word(module, MODULE_TEXT);
	return g->text + go_u32(g->functab.bytes) == module_word(module, MODULE_MIN_PC) ? 0
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

/* ---- inlined calls ---- */

static bool is_name_start(const struct gopclntab *g, int32_t offset)
{
	return offset >= 0 && (uint32_t)offset < g->names.size &&
	       (!offset || !g->names.bytes[offset - 1]);
}

/*
 * Returns true if the first calls of some functions are plausible there. The word of the moduledata
 * differs between releases, so each is tried.
 */
static bool is_gofunc(const struct gopclntab *g, uint64_t gofunc)
{
	size_t n_checked = 0;
	struct go_call call;
	struct go_func f;

	for (size_t i = 0; i < g->n_funcs && n_checked < CHECKED_CALLS; i++) {
		if (!gopclntab_func(g, i, &f) || f.n_values <= GO_CALLS_VALUES ||
		    !go_u32(g->functab.bytes + f.values_at + 4 * GO_CALLS_VALUES))
			continue;
		if (!gopclntab_read_call(g, &f, gofunc, 0, &call) || !is_name_start(g, call.name) ||
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
 * Before Go 1.18 inlined calls are located by addresses. Before Go 1.13 they had another format and
 * place, which the check refuses.
 */
void gopclntab_find_calls(struct gopclntab *g)
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
