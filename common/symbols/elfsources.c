// SPDX-License-Identifier: GPL-2.0-only
/*
 * Collects the symbols of an ELF file; see elfsources.h. The sections are always the file's own:
 * symbols of a debug file that lie outside of them don't belong to this file.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/mem.h"
#include "base/msg.h"
#include "base/unxz.h"
#include "elf/code_end.h"
#include "elf/elffile.h"
#include "elf/elfplt.h"
#include "elf/elfsymtab.h"
#include "elf/unreadable.h"
#include "process/files.h"
#include "symbols/elfsources.h"

/* ---- minidebug ---- */

/*
 * MiniDebugInfo: the section .gnu_debugdata contains an xz-compressed ELF file with the symbols
 * that .dynsym lacks (Fedora adds it to all files).
 */

/*
 * Returns the decompressed file, freed with free(); NULL with errno set: ENOENT without such a
 * section, EINVAL if it is broken, EFBIG if it exceeds 64 MiB.
 */
static void *minidebug_read(const struct elffile *f, size_t *size)
{
	GElf_Shdr sh;
	Elf_Data *data = elffile_data(f, elffile_section(f, ".gnu_debugdata", &sh));

	if (data && data->d_size)
		return unxz(data->d_buf, data->d_size, size);
	errno = ENOENT;
	return NULL;
}

/* ---- elfsources ---- */

#define COMPARED_MAX	   1024 /* lengths of names are compared up to this number of bytes */
#define TIES_MAX	   4096 /* names of one address that are compared */
#define WINDOW_BYTES	   4096
#define START_WINDOW_BYTES 256
#define UNDERSCORES_MAX	   16
#define GO_RANK		   4 /* higher than the rank of any symbol */
#define GO_SPARE_BYTES	   4096
#define STUB_NAME_MAX	   4096
#define STUBS_MAX_BYTES	   (16u << 20)
#define MAX_CODE_ENDS	   4096 /* limit of unsized symbols whose code is decoded */

static int read_segments(struct elfsources *s)
{
	size_t n;

	if (elf_getphdrnum(s->file->elf, &n))
		return -EINVAL;
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr ph;

		if (!gelf_getphdr(s->file->elf, (int)i, &ph))
			return -EINVAL;
		elfsegs_add(&s->segs, &ph);
	}
	return 0;
}

static void add_section(struct elfsources *s, const GElf_Shdr *sh)
{
	if (!(sh->sh_flags & SHF_ALLOC) || !(sh->sh_flags & SHF_EXECINSTR) ||
	    sh->sh_addr + sh->sh_size <= sh->sh_addr)
		return;
	*MEM_APPEND(s->sections, s->n_sections, s->sections_cap) =
		(struct addr_item){ .addr = sh->sh_addr, .value = sh->sh_addr + sh->sh_size };
}

/* Uses the executable segments as sections, if there are no section headers. */
static void use_segments(struct elfsources *s)
{
	for (size_t i = 0; i < s->segs.count; i++) {
		GElf_Shdr sh = { .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
				 .sh_addr = s->segs.items[i].vaddr,
				 .sh_size = s->segs.items[i].bytes };

		add_section(s, &sh);
	}
}

/* Sorts the sections. If they overlap in a broken file, each ends where the next one begins. */
static void sort_sections(struct elfsources *s)
{
	addrsort(s->sections, s->n_sections);
	for (size_t i = 1; i < s->n_sections; i++)
		if (s->sections[i - 1].value > s->sections[i].addr)
			s->sections[i - 1].value = s->sections[i].addr;
}

static int read_sections(struct elfsources *s)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(s->file->elf, scn))) {
		GElf_Shdr sh;

		if (!gelf_getshdr(scn, &sh))
			return -EINVAL;
		add_section(s, &sh);
	}
	if (!s->file->n_sections)
		use_segments(s);
	sort_sections(s);
	return 0;
}

/* Tries the previously found section first: neighbouring symbols mostly share it. */
const struct addr_item *elfsources_section(struct elfsources *s, uint64_t addr)
{
	const struct addr_item *section = s->last_section;
	size_t rank;

	if (section && addr >= section->addr && addr < section->value)
		return section;
	rank = addrsort_rank(s->sections, s->n_sections, addr);
	section = rank ? &s->sections[rank - 1] : NULL;
	if (!section || addr >= section->value)
		return NULL;
	return s->last_section = section;
}

bool elfsources_has_all(const struct elfsources *s)
{
	return s->names.sources[SOURCE_SYMTAB].size;
}

uint64_t elfsources_code_end(struct elfsources *s, uint64_t addr, uint64_t limit)
{
	size_t bytes = limit - addr < CODE_END_MAX_BYTES ? limit - addr : CODE_END_MAX_BYTES;
	uint64_t offset = elfsegs_offset(&s->segs, addr);
	uint8_t *code = NULL;
	size_t own = 1;

	if (offset != UINT64_MAX && s->n_code_ends++ < MAX_CODE_ENDS)
		code = elffile_copy(s->file, offset, bytes);
	if (code)
		own = code_end(code, bytes, s->file->header.e_machine);
	free(code);
	return addr + own;
}

/* ---- names ---- */

static bool read_window(struct symbol_names *names, enum symbol_source source, size_t offset,
			size_t bytes)
{
	const struct source_strings *strings = &names->sources[source];
	struct elf64 file = { .fd = strings->fd, .size = strings->offset + strings->size };
	size_t left = strings->size - offset;

	bytes = bytes < left ? bytes : left;
	free(names->window);
	names->window = elf64_read(&file, strings->offset + offset, bytes, bytes);
	names->bytes = names->window ? bytes : 0;
	names->source = source;
	names->start = offset;
	if (!names->window)
		unreadable_report(-errno);
	return names->window;
}

/* Returns the string at offset if all of it is in the window, else NULL. */
static char *in_window(const struct symbol_names *names, enum symbol_source source, size_t offset)
{
	size_t at = offset - names->start;

	if (source != names->source || offset < names->start || at >= names->bytes ||
	    !memchr(names->window + at, '\0', names->bytes - at))
		return NULL;
	return names->window + at;
}

/*
 * Returns the name at offset in a source's strings, valid until the next call, without a version:
 * memcpy, not memcpy@@GLIBC_2.14. NULL: empty, overlong or unreadable.
 */
static const char *read_name(struct symbol_names *names, enum symbol_source source, size_t offset)
{
	static const size_t bytes[] = { WINDOW_BYTES, SYMBOL_NAME_MAX + 1 };
	const struct source_strings *strings = &names->sources[source];
	char *name, *version;
	size_t n;

	if (offset >= strings->size)
		return NULL;
	name = strings->text ? strings->text + offset : in_window(names, source, offset);
	for (size_t i = 0; !name && i < ARRAY_SIZE(bytes); i++)
		if (read_window(names, source, offset, bytes[i]))
			name = in_window(names, source, offset);
	n = name ? strnlen(name, SYMBOL_NAME_MAX + 1) : 0;
	if (!n || n > SYMBOL_NAME_MAX)
		return NULL;
	version = source <= SOURCE_SYMTAB ? memchr(name + 1, '@', n - 1) : NULL;
	if (version)
		*version = '\0';
	return name;
}

/* Ranks a name by its leading underscores, then by its length; the lowest rank is the best. */
static size_t judge_name(const char *name)
{
	size_t n = 0;

	while (name && n < UNDERSCORES_MAX && name[n] == '_')
		n++;
	return name ? n * (COMPARED_MAX + 1) + strnlen(name, COMPARED_MAX) : SIZE_MAX;
}

static const char *name_of(struct symbol_names *names, const struct addr_item *item)
{
	return read_name(names, candidate_of(item).source, candidate_of(item).name);
}

const char *symbol_names_best(struct symbol_names *names, const struct addr_item *items,
			      size_t last)
{
	size_t least = SIZE_MAX, first = last, best;

	while (first && items[first - 1].addr == items[last].addr && last - first < TIES_MAX)
		first--;
	best = first;
	for (size_t i = first; first < last && i <= last; i++) {
		size_t rank = judge_name(name_of(names, &items[i]));

		if (rank < least)
			best = i;
		least = rank < least ? rank : least;
	}
	return name_of(names, &items[best]);
}

bool symbol_names_are_current(const struct symbol_names *names)
{
	return names->debug_fd < 0 || file_has_contents_of(names->debug_fd, &names->debug_status);
}

void symbol_names_free(struct symbol_names *names)
{
	for (size_t i = 0; i < N_SOURCES; i++)
		free(names->sources[i].text);
	if (names->debug_fd >= 0)
		close(names->debug_fd);
	free(names->window);
}

/* ---- symbol tables ---- */

static int find_strings(struct source_strings *strings, const struct elffile *f, Elf_Scn *scn)
{
	const char *last;
	GElf_Shdr sh;

	if (!elffile_has_bytes(f, scn, &sh))
		return -EINVAL;
	*strings =
		(struct source_strings){ .fd = f->fd, .offset = sh.sh_offset, .size = sh.sh_size };
	if (!f->image)
		return 0;
	strings->text = elffile_copy(f, sh.sh_offset, sh.sh_size);
	if (!strings->text)
		return -EINVAL;
	last = sh.sh_size ? memrchr(strings->text, '\0', sh.sh_size) : NULL;
	strings->size = last ? (size_t)(last - strings->text) + 1 : 0;
	return 0;
}

/* Reads the first two bytes of a string, of which hostile ones may never end. */
static bool read_start(struct symbol_names *names, enum symbol_source source, size_t offset,
		       char start[2])
{
	const struct source_strings *strings = &names->sources[source];
	size_t at = offset - names->start;

	if (offset >= strings->size || strings->size - offset < 2)
		return false;
	if (strings->text) {
		memcpy(start, strings->text + offset, 2);
		return true;
	}
	if (source != names->source || offset < names->start || at + 2 > names->bytes) {
		if (!read_window(names, source, offset, START_WINDOW_BYTES))
			return false;
		at = 0;
	}
	memcpy(start, names->window + at, 2);
	return true;
}

/*
 * Returns true for the beginning of the assembler's markers: .L labels, and $x, $d.1, ... between
 * code and data (ARM, RISC-V).
 */
static bool is_assembler_mark(const char start[2])
{
	if (start[0] == '.')
		return start[1] == 'L';
	return start[0] == '$' && start[1] && strchr("adtx", start[1]);
}

static bool is_function(struct elfsources *s, enum symbol_source source, const GElf_Sym *sym)
{
	char start[2];

	switch (GELF_ST_TYPE(sym->st_info)) {
	case STT_FUNC:
	case STT_GNU_IFUNC:
		return true;
	case STT_NOTYPE:
		if (GELF_ST_BIND(sym->st_info) != STB_LOCAL)
			return true;
		return read_start(&s->names, source, sym->st_name, start) && *start &&
		       !is_assembler_mark(start);
	default:
		return false;
	}
}

/*
 * Ranks a symbol: typed over untyped, then global or weak over local. In a linked file weak equals
 * global: glibc's read() is weak.
 */
static unsigned int rank_symbol(const GElf_Sym *sym)
{
	bool is_typed = GELF_ST_TYPE(sym->st_info) != STT_NOTYPE;

	return is_typed * 2 + (GELF_ST_BIND(sym->st_info) != STB_LOCAL);
}

static void add_candidate(struct elfsources *s, uint64_t addr, union candidate c)
{
	*MEM_APPEND(s->candidates, s->n_candidates, s->candidates_cap) =
		(struct addr_item){ .addr = addr, .value = c.value };
}

static void add_symbol(struct elfsources *s, enum symbol_source source, const GElf_Sym *sym)
{
	uint64_t addr = sym->st_value, size = sym->st_size;
	union candidate c = { .value = 0 };

	if (sym->st_shndx == SHN_UNDEF || sym->st_shndx == SHN_ABS || sym->st_shndx == SHN_COMMON ||
	    !sym->st_name || sym->st_name >= s->names.sources[source].size ||
	    !is_function(s, source, sym))
		return;
	if (s->file->header.e_machine == EM_ARM)
		addr &= ~1ull; /* bit 0 marks Thumb functions */
	if (!elfsources_section(s, addr))
		return;
	c.name = sym->st_name;
	c.size = size < CANDIDATE_MAX_BYTES ? size : CANDIDATE_MAX_BYTES;
	c.source = source;
	c.rank = rank_symbol(sym);
	add_candidate(s, addr, c);
}

static int read_symbols(struct elfsources *s, enum symbol_source source, struct elfsymtab *t)
{
	GElf_Sym sym;

	for (size_t i = 1; i < t->count; i++) {
		if (!elfsymtab_get(t, i, &sym))
			return -EINVAL;
		add_symbol(s, source, &sym);
	}
	return 0;
}

static int read_table(struct elfsources *s, enum symbol_source source, const struct elffile *f,
		      Elf_Scn *scn, const GElf_Shdr *sh)
{
	struct elfsymtab t;
	int err = -EINVAL;

	if (!elfsymtab_open(&t, f, scn))
		return err;
	if (!find_strings(&s->names.sources[source], f, elf_getscn(f->elf, sh->sh_link)))
		err = read_symbols(s, source, &t);
	elfsymtab_close(&t);
	return err;
}

/* Drops the symbols of a table that is broken or too large. */
static void drop_table(struct elfsources *s, enum symbol_source source, size_t n_candidates)
{
	s->n_candidates = n_candidates;
	free(s->names.sources[source].text);
	s->names.sources[source] = (struct source_strings){ .text = NULL };
}

/* Reads .symtab and .dynsym, either of which may be missing. The gABI allows one of each. */
static int read_tables(struct elfsources *s, const struct elffile *f)
{
	size_t n_before = s->n_candidates;
	Elf_Scn *scn = NULL;
	int err = 0;

	while ((scn = elf_nextscn(f->elf, scn))) {
		enum symbol_source source;
		GElf_Shdr sh;
		size_t n;

		if (!gelf_getshdr(scn, &sh))
			return -EINVAL;
		if (sh.sh_type != SHT_SYMTAB && (sh.sh_type != SHT_DYNSYM || f != s->file))
			continue;
		source = sh.sh_type == SHT_SYMTAB ? SOURCE_SYMTAB : SOURCE_DYNSYM;
		if (s->names.sources[source].size)
			return -EINVAL;
		n = s->n_candidates;
		if (!read_table(s, source, f, scn, &sh))
			continue;
		drop_table(s, source, n);
		err = -EINVAL;
	}
	return s->n_candidates > n_before ? 0 : err;
}

/* ---- the best symbol of each address ---- */

/* Compares by rank and size, without reading names: > 0 if x is better. */
static int compare_candidates(union candidate x, union candidate y)
{
	if (x.rank != y.rank)
		return x.rank > y.rank ? 1 : -1;
	return (x.size > y.size) - (x.size < y.size);
}

/* Sorts the candidates and drops all but the best ones of each address. */
static void keep_best(struct elfsources *s)
{
	size_t kept = 0, first = 0;
	int order;

	addrsort(s->candidates, s->n_candidates);
	for (size_t i = 0; i < s->n_candidates; i++) {
		struct addr_item c = s->candidates[i];

		if (!kept || s->candidates[first].addr != c.addr)
			first = kept;
		order = first == kept ? 0
				      : compare_candidates(candidate_of(&c),
							   candidate_of(&s->candidates[first]));
		if (order > 0)
			kept = first;
		if (order >= 0)
			s->candidates[kept++] = c;
	}
	s->n_candidates = kept;
}

/* ---- other files ---- */

static int open_minidebug(struct elfsources *s)
{
	size_t size;

	s->minidebug = minidebug_read(s->file, &size);
	return s->minidebug ? elffile_open_image(&s->debug, s->minidebug, size) : -errno;
}

static bool open_debug(struct elfsources *s, const struct debug_place *place)
{
	if (place)
		s->names.debug_fd = debugfile_open(s->file, place, &s->debug);
	if (s->names.debug_fd < 0 && !open_minidebug(s))
		return true;
	if (s->names.debug_fd < 0 && place)
		s->names.debug_fd = debugfile_fetch(s->file, &s->debug);
	return s->names.debug_fd >= 0 && !fstat(s->names.debug_fd, &s->names.debug_status);
}

/*
 * Reads a debug file, if .symtab is missing. A broken one is ignored; the file itself may still
 * have symbols.
 */
static void read_debug(struct elfsources *s, const struct debug_place *place)
{
	size_t n = s->n_candidates;

	if (s->names.sources[SOURCE_SYMTAB].size || !open_debug(s, place) ||
	    !read_tables(s, &s->debug))
		return;
	drop_table(s, SOURCE_SYMTAB, n);
}

/* ---- Go ---- */

/* Adds a Go function. False: a name that no compiler makes; the following ones are ignored, too. */
static bool add_go_function(struct elfsources *s, const struct gopclntab *go,
			    const struct go_func *f, size_t room)
{
	struct source_strings *strings = &s->names.sources[SOURCE_GO];
	const char *name = gopclntab_name(go, f->name);
	union candidate c = { .source = SOURCE_GO, .rank = GO_RANK, .name = strings->size };
	size_t n;

	if (!name || !*name || !elfsources_section(s, f->start))
		return true;
	n = strnlen(name, SYMBOL_NAME_MAX + 1);
	if (n > SYMBOL_NAME_MAX || n + GO_NAME_SPARE >= room - strings->size)
		return false;
	c.size = f->end - f->start < CANDIDATE_MAX_BYTES ? f->end - f->start : CANDIDATE_MAX_BYTES;
	add_candidate(s, f->start, c);
	strings->size += gopclntab_write_name(go, strings->text + strings->size, name, n);
	strings->text[strings->size++] = '\0';
	return true;
}

/*
 * Adds Go's functions. Space is limited as if names did not share bytes in the file; in real files
 * they don't.
 */
static void add_go_functions(struct elfsources *s, const struct gopclntab *go)
{
	struct source_strings *strings = &s->names.sources[SOURCE_GO];
	size_t room = 2 * go->names.size + GO_SPARE_BYTES;
	struct go_func f;

	if (room > 1u << CANDIDATE_NAME_BITS)
		room = 1u << CANDIDATE_NAME_BITS;
	strings->text = mem_realloc(NULL, room, 1);
	for (size_t i = 0; i < go->n_funcs; i++)
		if (gopclntab_func(go, i, &f) && !add_go_function(s, go, &f, room))
			break;
	strings->text = mem_realloc(strings->text, strings->size, 1);
}

/* Reports (-v) that the Go version is too new, or that functions are hidden. */
static void say_unknown(const struct elffile *file)
{
	char link[64], path[4096];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", file->fd);
	n = readlink(link, path, sizeof(path));
	msg_debug("%.*s: no names of Go functions: unknown layout of gopclntab", n > 0 ? (int)n : 1,
		  n > 0 ? path : "?");
}

static void read_go(struct elfsources *s)
{
	struct gopclntab go;
	struct elf64 elf;
	int err;

	if (elffile_as_elf64(s->file, &elf))
		return;
	err = gopclntab_open(&go, &elf);
	if (err == -ENOTSUP)
		say_unknown(s->file);
	if (err)
		return;
	add_go_functions(s, &go);
	gopclntab_close(&go);
}

/* ---- stubs ---- */

/* Returns the name of a function that starts at addr, among n candidates; NULL: none. */
static const char *name_at(struct elfsources *s, size_t n, uint64_t addr)
{
	size_t rank = addrsort_rank(s->candidates, n, addr);

	if (!rank || s->candidates[rank - 1].addr != addr)
		return NULL;
	return symbol_names_best(&s->names, s->candidates, rank - 1);
}

/* Names a stub after its target, or after the function at the address of its IFUNC resolver. */
static void add_stub(struct elfsources *s, size_t n_sorted, const struct plt_stub *stub)
{
	struct source_strings *strings = &s->names.sources[SOURCE_PLT];
	const char *name = stub->name ? read_name(&s->names, SOURCE_DYNSYM, stub->name)
				      : name_at(s, n_sorted, stub->resolver);
	size_t n = name ? strnlen(name, STUB_NAME_MAX) : 0;
	union candidate c = { .source = SOURCE_PLT, .name = strings->size, .size = stub->bytes };

	if (!name || !elfsources_section(s, stub->vaddr) || strings->size > STUBS_MAX_BYTES)
		return;
	strings->text = mem_realloc(strings->text, strings->size + n + sizeof("@plt"), 1);
	memcpy(strings->text + strings->size, name, n);
	memcpy(strings->text + strings->size + n, "@plt", sizeof("@plt"));
	strings->size += n + sizeof("@plt");
	add_candidate(s, stub->vaddr, c);
}

static void read_stubs(struct elfsources *s)
{
	size_t n, n_sorted = s->n_candidates;
	struct plt_stub *stubs = elfplt_read(s->file, s->names.sources[SOURCE_DYNSYM].size, &n);

	for (size_t i = 0; i < n; i++)
		add_stub(s, n_sorted, &stubs[i]);
	free(stubs);
}

int elfsources_read(struct elfsources *s, const struct elffile *file,
		    const struct debug_place *place)
{
	int err;

	*s = (struct elfsources){ .file = file, .names = NO_NAMES };
	err = read_segments(s);
	if (!err)
		err = read_sections(s);
	if (!err)
		err = read_tables(s, file);
	if (err)
		return err;
	read_debug(s, place);
	read_go(s);
	keep_best(s);
	read_stubs(s);
	keep_best(s);
	return 0;
}

void elfsources_free(struct elfsources *s)
{
	symbol_names_free(&s->names);
	elffile_close(&s->debug);
	free(s->minidebug);
	free(s->candidates);
	free(s->sections);
}
