// SPDX-License-Identifier: GPL-2.0-only
/*
 * Function symbols of an ELF file, as a sorted array; see elfsyms.h. The sources become an array of
 * 16 bytes per symbol, sorted, with the best ones of each address. It is reused, so that reading a
 * large file takes hardly more memory than its result. Names are read when they are requested.
 *
 * Sources, in this order: the file's own .symtab, else that of a separate debug file on this
 * machine, else MiniDebugInfo inside the file, else a debug file from debuginfod. The file's
 * .dynsym, its PLT stubs and the functions in Go's runtime tables are always added; the last have
 * undecorated Go names. The sections are always the file's own: symbols of a debug file that lie
 * outside of them don't belong to this file.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/addrsort.h"
#include "base/array.h"
#include "base/idmap.h"
#include "base/mem.h"
#include "base/msg.h"
#include "base/search.h"
#include "base/unxz.h"
#include "elf/code_end.h"
#include "elf/elffile.h"
#include "elf/elfplt.h"
#include "elf/elfsegs.h"
#include "elf/elfsymtab.h"
#include "elf/gopclntab.h"
#include "elf/unreadable.h"
#include "process/files.h"
#include "symbols/debugfile.h"
#include "symbols/demangle.h"
#include "symbols/elfsyms.h"

/* ---- sources ---- */

#define CANDIDATE_NAME_BITS 28
#define CANDIDATE_SIZE_BITS 30
#define CANDIDATE_MAX_BYTES ((1u << CANDIDATE_SIZE_BITS) - 1)
#define SYMBOL_NAME_MAX	    (64u << 10)

enum symbol_source {
	SOURCE_DYNSYM,
	SOURCE_SYMTAB,
	SOURCE_PLT,
	SOURCE_GO,
	N_SOURCES,
};

/* Properties of a symbol, packed into the value of an addr_item. */
union candidate {
	struct {
		uint64_t name : CANDIDATE_NAME_BITS; /* offset in the strings of its source */
		uint64_t size : CANDIDATE_SIZE_BITS; /* at most CANDIDATE_MAX_BYTES; 0: unknown */
		uint64_t source : 2;
		/* the highest rank at an address wins */
		uint64_t rank : 3;
	};
	uint64_t value;
};

static union candidate candidate_of(const struct addr_item *item)
{
	return (union candidate){ .value = item->value };
}

/* Strings of a source: in memory, or a section of a file. */
struct source_strings {
	char *text;	 /* ends with a zero byte; NULL: they are in the file */
	int fd;		 /* of the file; borrowed */
	uint64_t offset; /* in the file */
	size_t size;	 /* 0: no such source */
};

/*
 * Names of candidates. In large files they take tens of megabytes, and few are requested: names of
 * symbol tables stay in the file. symbol_names_free() is required.
 */
struct symbol_names {
	struct source_strings sources[N_SOURCES];
	int debug_fd;		  /* separate debug file, owned; -1: none */
	struct stat debug_status; /* its status at open */
	/* the part of a source's strings that was read last */
	char *window;
	enum symbol_source source;
	size_t start, bytes;
};

struct elfsources {
	struct elfsegs segs;
	/* ascending; several at an address have equal ranks and sizes */
	struct addr_item *candidates;
	size_t n_candidates, candidates_cap;
	struct addr_item *sections; /* code sections, ascending; value: the end address */
	size_t n_sections, sections_cap;
	struct symbol_names names;

	const struct elffile *file; /* borrowed */
	struct elffile debug;
	void *minidebug;
	size_t n_code_ends; /* number of calls of find_code_end() */
	const struct addr_item *last_section;
};

#define NO_NAMES ((struct symbol_names){ .debug_fd = -1 })

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

/* ---- sections ---- */

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

/*
 * Returns the code section that contains addr, or NULL. Tries the previously found section first:
 * neighbouring symbols mostly share it.
 */
static const struct addr_item *find_section(struct elfsources *s, uint64_t addr)
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

/* Returns true if a .symtab was found: all functions are known, not only the exported ones. */
static bool has_all(const struct elfsources *s)
{
	return s->names.sources[SOURCE_SYMTAB].size;
}

/*
 * Returns the end of the code that provably belongs to the function without size at addr, at most
 * limit: see code_end.h.
 */
static uint64_t find_code_end(struct elfsources *s, uint64_t addr, uint64_t limit)
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

/*
 * Returns the best name of an address, valid until the next call; NULL: none, overlong or
 * unreadable. items[last]: the last item with this address; values are union candidate.
 */
static const char *symbol_names_best(struct symbol_names *names, const struct addr_item *items,
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

/* Returns true if there is no separate debug file, or it still has the contents of its opening. */
static bool symbol_names_are_current(const struct symbol_names *names)
{
	return names->debug_fd < 0 || file_has_contents_of(names->debug_fd, &names->debug_status);
}

static void symbol_names_free(struct symbol_names *names)
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
	if (!find_section(s, addr))
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

	if (!name || !*name || !find_section(s, f->start))
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

	if (!name || !find_section(s, stub->vaddr) || strings->size > STUBS_MAX_BYTES)
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

/*
 * Reads all sources. place NULL: no separate debug files. Returns 0 or -errno; free_sources() is
 * required in either case. A caller that takes over candidates or names sets them to NULL, or to
 * NO_NAMES. The file must stay open for as long as its names are read.
 */
static int read_sources(struct elfsources *s, const struct elffile *file,
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

static void free_sources(struct elfsources *s)
{
	symbol_names_free(&s->names);
	elffile_close(&s->debug);
	free(s->minidebug);
	free(s->candidates);
	free(s->sections);
}

/* ---- elfsyms ---- */

#define NESTING_MAX 16
#define NO_PARENT   UINT32_MAX

/* The name of a requested symbol. */
struct found_name {
	char *readable; /* demangled name; `name` if it is not mangled; NULL: not requested yet */
	char name[];	/* "": none */
};

struct elfsyms {
	/* value: a union candidate, whose size reaches to the function's end */
	struct addr_item *syms;
	/* index of the symbol around this one's start; or NO_PARENT */
	uint32_t *parents;
	size_t count;
	struct symbol_names names;
	struct elfsegs segs;
	struct idmap found; /* struct found_name by index + 1 */
	size_t found_bytes;
};

static bool covers(const struct addr_item *sym, uint64_t addr)
{
	return addr - sym->addr < candidate_of(sym).size;
}

/*
 * Returns the innermost symbol that covers addr. Skipped symbols are never visited again, so that
 * all calls together take linear time.
 */
static uint32_t find_parent(const struct elfsyms *es, uint64_t addr)
{
	uint32_t i = es->count ? es->count - 1 : NO_PARENT;

	while (i != NO_PARENT && !covers(&es->syms[i], addr))
		i = es->parents[i];
	return i;
}

static uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/*
 * Adds n symbols of one address, which have equal sizes. Leaves labels out: they have no size, and
 * are inside a function.
 */
static void add_symbols(struct elfsyms *es, const struct addr_item *syms, size_t n, uint64_t end)
{
	uint32_t parent = find_parent(es, syms->addr);

	if (!candidate_of(syms).size && parent != NO_PARENT)
		return;
	for (size_t i = 0; i < n; i++) {
		struct addr_item sym = syms[i];
		union candidate c = candidate_of(&sym);

		c.size = min_u64(end - sym.addr, CANDIDATE_MAX_BYTES);
		es->parents[es->count] = parent;
		es->syms[es->count++] = (struct addr_item){ .addr = sym.addr, .value = c.value };
	}
}

/*
 * Returns the end of a symbol: by its size, else by the next one, at most its section's end. If
 * only exported functions are known, others may lie before the next symbol.
 */
static uint64_t find_end(struct elfsources *sources, const struct addr_item *sym, uint64_t next)
{
	uint64_t size = candidate_of(sym).size, end;

	end = min_u64(find_section(sources, sym->addr)->value, size ? sym->addr + size : next);
	if (size || has_all(sources))
		return end;
	return find_code_end(sources, sym->addr, end);
}

/* Builds the symbols in the memory of the candidates. */
static struct elfsyms *build(struct elfsources *sources)
{
	struct elfsyms *es = mem_zalloc(1, sizeof(*es));
	struct addr_item *all = sources->candidates;
	size_t n = sources->n_candidates;

	es->segs = sources->segs;
	es->syms = all;
	es->parents = mem_realloc(NULL, n, sizeof(*es->parents));
	for (size_t i = 0, next; i < n; i = next) {
		for (next = i + 1; next < n && all[next].addr == all[i].addr;)
			next++;
		add_symbols(es, &all[i], next - i,
			    find_end(sources, &all[i], next < n ? all[next].addr : UINT64_MAX));
	}
	sources->candidates = NULL;
	es->syms = mem_realloc(es->syms, es->count, sizeof(*es->syms));
	es->parents = mem_realloc(es->parents, es->count, sizeof(*es->parents));
	es->names = sources->names;
	sources->names = NO_NAMES;
	return es;
}

static struct elfsyms *load(const struct elffile *f, const struct debug_place *place)
{
	struct elfsyms *es = NULL;
	struct elfsources sources;
	int err;

	errno = 0; /* libelf does not report failed reads: errno shows them */
	err = read_sources(&sources, f, place);
	if (!err)
		es = build(&sources);
	unreadable_report(-errno);
	free_sources(&sources);
	errno = -err;
	return es;
}

/* Loads the symbols, if opening the file succeeded (err), and closes it. */
static struct elfsyms *load_and_close(struct elffile *f, int err, const struct debug_place *place)
{
	struct elfsyms *es = NULL;

	if (!err) {
		es = load(f, place);
		err = -errno;
		elffile_close(f);
	}
	errno = -err;
	return es;
}

struct elfsyms *elfsyms_load(int fd, const struct debug_place *place)
{
	struct elffile f;

	return load_and_close(&f, elffile_open(&f, fd), place);
}

struct elfsyms *elfsyms_load_image(const void *image, size_t size)
{
	struct elffile f;

	return load_and_close(&f, elffile_open_image(&f, image, size), NULL);
}

static void free_found(void *value)
{
	struct found_name *found = value;

	if (found->readable != found->name)
		free(found->readable);
	free(found);
}

void elfsyms_free(struct elfsyms *es)
{
	if (!es)
		return;
	idmap_free(&es->found, free_found);
	symbol_names_free(&es->names);
	free(es->parents);
	free(es->syms);
	free(es);
}

static uint32_t find_symbol(const struct elfsyms *es, uint64_t vaddr)
{
	size_t rank = SEARCH_RANK(es->syms, es->count, addr, vaddr);
	uint32_t i = rank ? (uint32_t)rank - 1 : NO_PARENT;

	for (int depth = 0; depth < NESTING_MAX && i != NO_PARENT; depth++) {
		if (covers(&es->syms[i], vaddr))
			return i;
		i = es->parents[i];
	}
	return NO_PARENT;
}

/* Returns the name of symbol i; reads it only once. */
static struct found_name *find_name(struct elfsyms *es, uint32_t i)
{
	struct found_name *found = idmap_find(&es->found, i + 1ULL);
	const char *name;
	size_t bytes;

	if (found)
		return found;
	name = symbol_names_best(&es->names, es->syms, i);
	bytes = name ? strlen(name) + 1 : 1;
	found = mem_zalloc(1, sizeof(*found) + bytes);
	memcpy(found->name, name ? name : "", bytes);
	es->found_bytes += sizeof(*found) + bytes;
	idmap_add(&es->found, i + 1ULL, found);
	return found;
}

const char *elfsyms_find(struct elfsyms *es, uint64_t vaddr, uint64_t *start)
{
	uint32_t i = find_symbol(es, vaddr);
	const char *name;

	if (i == NO_PARENT)
		return NULL;
	if (start)
		*start = es->syms[i].addr;
	name = find_name(es, i)->name;
	return *name ? name : NULL;
}

/* Demangles a name; returns the name itself if it is not mangled. */
static char *make_readable(struct elfsyms *es, char *name)
{
	char *text = demangle(name);

	if (!text)
		return name;
	es->found_bytes += strlen(text) + 1;
	return text;
}

const char *elfsyms_find_readable(struct elfsyms *es, uint64_t vaddr)
{
	uint32_t i = find_symbol(es, vaddr);
	struct found_name *found = i == NO_PARENT ? NULL : find_name(es, i);

	if (!found || !*found->name)
		return NULL;
	if (!found->readable)
		found->readable = make_readable(es, found->name);
	return found->readable;
}

uint64_t elfsyms_vaddr(const struct elfsyms *es, uint64_t file_offset)
{
	return elfsegs_vaddr(&es->segs, file_offset);
}

bool elfsyms_are_current(const struct elfsyms *es)
{
	return symbol_names_are_current(&es->names);
}

size_t elfsyms_count(const struct elfsyms *es)
{
	return es->count;
}

size_t elfsyms_bytes(const struct elfsyms *es)
{
	size_t bytes = sizeof(*es) + es->found_bytes + es->names.bytes;

	bytes += es->count * (sizeof(*es->syms) + sizeof(*es->parents));
	for (size_t i = 0; i < N_SOURCES; i++)
		bytes += es->names.sources[i].text ? es->names.sources[i].size : 0;
	return bytes;
}
