// SPDX-License-Identifier: GPL-2.0-only
/*
 * Finds source lines by libdw; see srclines.h. Units are found by a table of their address ranges,
 * built when the file is opened: .debug_aranges, which libdw would use, is not written by every
 * compiler (DWARF 5, sections 2.17, 3.3.8 and 6.2).
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/idmap.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/search.h"
#include "elf/elffile.h"
#include "elf/gopclntab.h"
#include "symbols/debugfile.h"
#include "symbols/demangle.h"
#include "symbols/srclines.h"

#define MAX_RANGES  (1U << 22)
#define GO_NAME_MAX (64U << 10)
#define MAX_DEPTH   256 /* maximum nesting of DWARF entries */

/* Address range of one unit. */
struct range {
	uint64_t start, end;
	Dwarf_Off unit;
};

/* The cached result for an address; n 0: unknown. */
struct answer {
	size_t n;
	struct srcframe frames[];
};

struct srclines {
	struct elffile file, debug;
	struct gopclntab go; /* bytes NULL: not a Go program */
	bool as_mangled;
	bool is_dwarf_open;	  /* opening was attempted; n_ranges 0: no DWARF */
	struct debug_place place; /* search path of the debug file, if has_place */
	bool has_place;
	int debug_fd; /* -1: the DWARF is in the file itself */
	struct elffile shared;
	int shared_fd; /* negative: no shared parts, or not found */
	Dwarf *dwarf, *shared_dwarf;
	struct range *ranges; /* ascending */
	size_t n_ranges, ranges_capacity;
	size_t sections_bytes; /* bytes of DWARF sections, uncompressed */
	enum srclines_lack lack;
	struct idmap answers; /* keyed by address + 1, since key 0 is invalid */
};

/* ---- units ---- */

static int compare_ranges(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

static void add_ranges(struct srclines *lines, Dwarf_Die *unit)
{
	struct range range = { .unit = dwarf_dieoffset(unit) };
	Dwarf_Addr base;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(unit, at, &base, &range.start, &range.end)) > 0 &&
	       lines->n_ranges < MAX_RANGES)
		*MEM_APPEND(lines->ranges, lines->n_ranges, lines->ranges_capacity) = range;
}

static void read_units(struct srclines *lines)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Die die;
	uint8_t type;

	while (!dwarf_get_units(lines->dwarf, unit, &unit, NULL, &type, &die, NULL)) {
		if (type == DW_UT_compile || type == DW_UT_skeleton)
			add_ranges(lines, &die);
		if (type == DW_UT_skeleton)
			lines->lack = SRCLINES_SPLIT;
	}
	SORT(lines->ranges, lines->n_ranges, compare_ranges);
}

static bool find_unit(const struct srclines *lines, uint64_t vaddr, Dwarf_Die *unit)
{
	size_t rank = SEARCH_RANK(lines->ranges, lines->n_ranges, start, vaddr);

	return rank && vaddr < lines->ranges[rank - 1].end &&
	       dwarf_offdie(lines->dwarf, lines->ranges[rank - 1].unit, unit);
}

/* ---- opening ---- */

static size_t count_section(const struct elffile *file, Elf_Scn *section)
{
	GElf_Shdr header;
	GElf_Chdr packed;
	uint64_t bytes;
	const char *name =
		gelf_getshdr(section, &header) ? elffile_section_name(file, &header) : "";

	if (strncmp(name, ".debug_", 7) || header.sh_type == SHT_NOBITS)
		return 0;
	bytes = gelf_getchdr(section, &packed) ? packed.ch_size : header.sh_size;
	return bytes < UINT32_MAX ? bytes : UINT32_MAX; /* section sizes may be nonsense */
}

static size_t count_sections(const struct elffile *file)
{
	size_t bytes = 0;

	for (Elf_Scn *section = NULL; (section = elf_nextscn(file->elf, section));)
		bytes += count_section(file, section);
	return bytes;
}

/* Checks that a string section is terminated: otherwise libdw (0.188) reads beyond it. */
static bool has_whole_strings(const struct elffile *file, const char *name)
{
	GElf_Shdr header;
	Elf_Scn *section = elffile_section(file, name, &header);
	const Elf_Data *data = section ? elf_getdata(section, NULL) : NULL;

	return !section || (data && data->d_size && !((const char *)data->d_buf)[data->d_size - 1]);
}

/* Checks the string sections, which libdw has decompressed by now. */
static bool is_sane(const struct elffile *file)
{
	return has_whole_strings(file, ".debug_str") && has_whole_strings(file, ".debug_line_str");
}

/*
 * Opens the file of shared parts before libdw does: libdw would search the tracer's root, and not
 * verify the file. False: not found, or broken.
 */
static bool begin_shared(struct srclines *lines, const struct elffile *file)
{
	struct debug_place nowhere = { -1, -1, NULL };

	lines->shared_fd = debugfile_open_shared(file, lines->has_place ? &lines->place : &nowhere,
						 &lines->shared);
	if (lines->shared_fd < 0)
		return lines->shared_fd == -ENODATA;
	lines->shared_dwarf = dwarf_begin_elf(lines->shared.elf, DWARF_C_READ, NULL);
	if (!lines->shared_dwarf || !is_sane(&lines->shared))
		return false;
	dwarf_setalt(lines->dwarf, lines->shared_dwarf);
	return true;
}

#define COMPRESSED_ZSTD 2 /* ELFCOMPRESS_ZSTD: since 2022 */

static enum srclines_lack find_lack(const struct srclines *lines, const struct elffile *file)
{
	GElf_Shdr header;
	GElf_Chdr packed;
	Elf_Scn *info = elffile_section(file, ".debug_info", &header);

	if (!info || header.sh_type == SHT_NOBITS)
		return SRCLINES_NO_DWARF;
	if (header.sh_flags & SHF_COMPRESSED && gelf_getchdr(info, &packed) &&
	    packed.ch_type == COMPRESSED_ZSTD)
		return SRCLINES_NO_ZSTD;
	return lines->shared_fd == -ENODATA ? SRCLINES_NO_DWARF : SRCLINES_NO_SHARED;
}

static bool begin(struct srclines *lines, const struct elffile *file)
{
	lines->shared_fd = -ENODATA;
	lines->lack = SRCLINES_ALL;
	lines->dwarf = dwarf_begin_elf(file->elf, DWARF_C_READ, NULL);
	if (lines->dwarf && is_sane(file) && begin_shared(lines, file))
		read_units(lines);
	lines->sections_bytes = count_sections(file);
	if (lines->shared_dwarf)
		lines->sections_bytes += count_sections(&lines->shared);
	if (!lines->n_ranges)
		lines->lack = find_lack(lines, file);
	return lines->n_ranges;
}

static void end(struct srclines *lines)
{
	if (lines->dwarf)
		dwarf_end(lines->dwarf);
	if (lines->shared_dwarf)
		dwarf_end(lines->shared_dwarf);
	if (lines->shared_fd >= 0) {
		elffile_close(&lines->shared);
		close(lines->shared_fd);
	}
	lines->dwarf = lines->shared_dwarf = NULL;
	lines->shared_fd = -1;
	lines->n_ranges = 0;
}

static bool begin_debug(struct srclines *lines)
{
	if (lines->has_place)
		lines->debug_fd = debugfile_open(&lines->file, &lines->place, &lines->debug);
	if (lines->debug_fd < 0)
		lines->debug_fd = debugfile_fetch(&lines->file, &lines->debug);
	return lines->debug_fd >= 0 && begin(lines, &lines->debug);
}

/* Opens the DWARF in the file or in a debug file, once. False: no DWARF. */
static bool open_dwarf(struct srclines *lines)
{
	if (lines->is_dwarf_open)
		return lines->n_ranges;
	lines->is_dwarf_open = true;
	if (begin(lines, &lines->file))
		return true;
	end(lines);
	return begin_debug(lines);
}

static bool open_go(struct srclines *lines)
{
	struct elf64 elf;

	return !elffile_as_elf64(&lines->file, &elf) && !gopclntab_open(&lines->go, &elf);
}

struct srclines *srclines_open(int fd, const struct debug_place *place, bool as_mangled,
			       enum srclines_lack *lack)
{
	struct srclines *lines = mem_zalloc(1, sizeof(*lines));
	bool is_open;

	if (lack)
		*lack = SRCLINES_NO_DWARF;
	lines->as_mangled = as_mangled;
	lines->has_place = place;
	if (place)
		lines->place = *place;
	lines->debug_fd = lines->shared_fd = -1;
	if (elffile_open(&lines->file, fd)) {
		free(lines);
		return NULL;
	}
	is_open = open_go(lines) || open_dwarf(lines);
	if (lack)
		*lack = lines->lack;
	if (is_open)
		return lines;
	srclines_free(lines);
	return NULL;
}

static void free_answer(void *value)
{
	struct answer *answer = value;

	for (size_t i = 0; i < answer->n; i++)
		free((char *)answer->frames[i].function);
	free(answer);
}

void srclines_free(struct srclines *lines)
{
	if (!lines)
		return;
	idmap_free(&lines->answers, free_answer);
	gopclntab_close(&lines->go);
	end(lines);
	free(lines->ranges);
	if (lines->debug_fd >= 0) {
		elffile_close(&lines->debug);
		close(lines->debug_fd);
	}
	elffile_close(&lines->file);
	free(lines);
}

size_t srclines_bytes(const struct srclines *lines)
{
	return sizeof(*lines) + lines->go.size + lines->sections_bytes +
	       lines->ranges_capacity * sizeof(*lines->ranges);
}

/* ---- one address ---- */

/* Returns the linkage name, which differs for overloaded functions; else the plain name. */
static char *name_of(Dwarf_Die *die, bool as_mangled)
{
	Dwarf_Attribute attr;
	const char *name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_linkage_name, &attr));
	char *readable = name && !as_mangled ? demangle(name) : NULL;

	if (!name)
		name = dwarf_diename(die);
	return readable ? readable : mem_strdup(name ? name : "[inlined]");
}

static void find_line(Dwarf_Die *unit, uint64_t vaddr, struct srcframe *frame)
{
	Dwarf_Line *line = dwarf_getsrc_die(unit, vaddr);
	int number = 0;

	if (!line)
		return;
	frame->file = dwarf_linesrc(line, NULL, NULL);
	if (!dwarf_lineno(line, &number) && number > 0)
		frame->line = (uint32_t)number;
}

/* Fills in file and line of the call of an inlined function. */
static void find_call(Dwarf_Die *unit, Dwarf_Die *die, struct srcframe *frame)
{
	Dwarf_Attribute attr;
	Dwarf_Word file = 0, line = 0;
	Dwarf_Files *files;
	size_t n;

	if (!dwarf_formudata(dwarf_attr(die, DW_AT_call_file, &attr), &file) &&
	    !dwarf_getsrcfiles(unit, &files, &n) && file < n)
		frame->file = dwarf_filesrc(files, file, NULL, NULL);
	if (!dwarf_formudata(dwarf_attr(die, DW_AT_call_line, &attr), &line))
		frame->line = (uint32_t)line;
}

/* Inlined functions at an address, outermost first. */
struct inlined {
	Dwarf_Die items[SRCLINES_MAX_FRAMES - 1];
	size_t n;
};

/* Appends an inlined function; if there are too many, drops the outermost one. */
static void add_inlined(struct inlined *inlined, const Dwarf_Die *die)
{
	if (inlined->n == SRCLINES_MAX_FRAMES - 1)
		memmove(inlined->items, inlined->items + 1, --inlined->n * sizeof(*inlined->items));
	inlined->items[inlined->n++] = *die;
}

/* Returns true for DWARF entries without addresses that may contain functions. */
static bool is_container(const Dwarf_Die *die)
{
	switch (dwarf_tag((Dwarf_Die *)die)) {
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
	case DW_TAG_enumeration_type:
		return true;
	default:
		return false;
	}
}

/*
 * Searches for inlined functions by nesting of entries in the unit. dwarf_getscopes() continues in
 * the abstract functions, which link-time optimization may put into other units. True: an entry
 * contains the address.
 */
static bool find_inlined(Dwarf_Die *parent, uint64_t vaddr, unsigned int depth,
			 struct inlined *inlined)
{
	Dwarf_Die die;

	if (depth == MAX_DEPTH || dwarf_child(parent, &die))
		return false;
	do {
		bool is_here = dwarf_haspc(&die, vaddr) > 0;

		if (is_here && dwarf_tag(&die) == DW_TAG_inlined_subroutine)
			add_inlined(inlined, &die);
		if ((is_here || is_container(&die)) &&
		    (find_inlined(&die, vaddr, depth + 1, inlined) || is_here))
			return true;
	} while (!dwarf_siblingof(&die, &die));
	return false;
}

/*
 * Lists the frames, innermost first: each inlined function names one frame, and its call site is
 * the caller's line.
 */
static size_t find_frames(const struct srclines *lines, Dwarf_Die *unit, uint64_t vaddr,
			  struct srcframe *frames)
{
	struct inlined inlined = { .n = 0 };
	size_t n = 0;

	find_line(unit, vaddr, &frames[0]);
	find_inlined(unit, vaddr, 0, &inlined);
	while (inlined.n--) {
		frames[n].function = name_of(&inlined.items[inlined.n], lines->as_mangled);
		find_call(unit, &inlined.items[inlined.n], &frames[++n]);
	}
	return n + 1;
}

static char *copy_go_name(const struct srclines *lines, const char *name)
{
	size_t n = name ? strnlen(name, GO_NAME_MAX) : 0;
	char *copy = mem_zalloc(1, n + GO_NAME_SPARE + 1);

	gopclntab_write_name(&lines->go, copy, name ? name : "", n);
	return copy;
}

/* Lists the frames of a Go function. The outermost one has no name: the symbol's applies. */
static size_t find_go_frames(struct srclines *lines, uint64_t vaddr, struct srcframe *frames)
{
	struct go_frame found[SRCLINES_MAX_FRAMES];
	size_t n = gopclntab_frames(&lines->go, vaddr, found, SRCLINES_MAX_FRAMES);

	for (size_t i = 0; i < n; i++)
		frames[i] = (struct srcframe){
			.function = i + 1 < n ? copy_go_name(lines, found[i].function) : NULL,
			.file = found[i].file,
			.line = found[i].line,
		};
	if (n == SRCLINES_MAX_FRAMES) /* the outermost frames may be missing */
		frames[n - 1] = (struct srcframe){ .function = NULL };
	return n;
}

static size_t find_dwarf_frames(struct srclines *lines, uint64_t vaddr, struct srcframe *frames)
{
	Dwarf_Die unit;

	return open_dwarf(lines) && find_unit(lines, vaddr, &unit)
		       ? find_frames(lines, &unit, vaddr, frames)
		       : 0;
}

static struct answer *look_up(struct srclines *lines, uint64_t vaddr)
{
	struct srcframe frames[SRCLINES_MAX_FRAMES] = {};
	size_t n = lines->go.bytes ? find_go_frames(lines, vaddr, frames) : 0;
	struct answer *answer;

	if (!n)
		n = find_dwarf_frames(lines, vaddr, frames);
	answer = mem_zalloc(1, sizeof(*answer) + n * sizeof(frames[0]));
	answer->n = n;
	if (n)
		memcpy(answer->frames, frames, n * sizeof(frames[0]));
	return answer;
}

size_t srclines_find(struct srclines *lines, uint64_t vaddr, const struct srcframe **frames)
{
	struct answer *answer = idmap_find(&lines->answers, vaddr + 1);

	if (!answer) {
		answer = look_up(lines, vaddr);
		idmap_add(&lines->answers, vaddr + 1, answer);
	}
	*frames = answer->frames;
	return answer->n;
}
