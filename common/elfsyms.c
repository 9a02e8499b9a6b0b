// SPDX-License-Identifier: GPL-2.0-only
/*
 * Function symbols of an ELF file. Everything is read with pread(2), never through a mapping of
 * the file: the traced side could truncate it, and the fault would end the tracer. Symbols are
 * packed into 16 bytes and sorted as they come; only the best one for each address has its name
 * copied, in order of address, so that lookups that are near each other stay near in memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "addrsort.h"
#include "elfsyms.h"
#include "mem.h"

#define NAME_BITS	  28
#define SIZE_BITS	  31
#define SECTION_MAX_BYTES (1u << NAME_BITS)
#define SYMBOL_MAX_BYTES  ((1u << SIZE_BITS) - 1)
#define SYMBOL_NAME_MAX	  (64u << 10)
#define SEGMENTS_MAX	  64
#define NESTING_MAX	  16
#define NO_PARENT	  UINT32_MAX
#define POOL_SPARE_BYTES  4096

enum { TABLE_DYNSYM, TABLE_SYMTAB, N_TABLES };

struct sym {
	uint64_t addr;
	uint32_t size;
	uint32_t name;	 /* offset in names */
	uint32_t parent; /* the symbol before this one that also covers its first address */
};

struct segment {
	uint64_t offset, vaddr, bytes;
};

struct elfsyms {
	struct sym *syms;
	char *names;
	size_t count;
	struct segment segments[SEGMENTS_MAX];
	size_t n_segments;
};

/* A symbol on its way through the sort. */
union candidate {
	struct {
		uint64_t name : NAME_BITS; /* offset in its table's strings */
		uint64_t size : SIZE_BITS;
		uint64_t table : 1;
		uint64_t rank : 3;
	};
	uint64_t value;
};

struct strings {
	const char *text;
	size_t size; /* up to the last zero byte, so that every offset below it is terminated */
};

struct loader {
	struct elfsyms *es;
	Elf *elf;
	uint64_t file_bytes;
	bool is_arm;
	struct strings strings[N_TABLES];
	struct addr_item *sections; /* executable ones; value: the end */
	size_t n_sections, sections_cap;
	const struct addr_item *last_section;
	struct addr_item *candidates;
	size_t n_candidates, candidates_cap;
	size_t names_used, names_cap;
};

/*
 * Headers whose counts live elsewhere (extended numbering, for more than 65,279 sections) are
 * never needed in files that can be mapped, but can make libelf allocate without bound. The
 * tests work for both byte orders.
 */
static bool has_sane_header(const unsigned char *h, size_t size)
{
	static const unsigned char zeros[8];
	bool is_64bit = size > EI_CLASS && h[EI_CLASS] == ELFCLASS64;
	const unsigned char *shoff = h + (is_64bit ? 0x28 : 0x20);
	const unsigned char *phnum = h + (is_64bit ? 0x38 : 0x2c);
	const unsigned char *shnum = h + (is_64bit ? 0x3c : 0x30);

	if (size < (is_64bit ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr)))
		return false;
	if (phnum[0] == 0xff && phnum[1] == 0xff)
		return false;
	return !memcmp(shoff, zeros, is_64bit ? 8 : 4) || memcmp(shnum, zeros, 2);
}

static bool is_within(uint64_t offset, uint64_t bytes, uint64_t limit)
{
	return offset <= limit && bytes <= limit - offset;
}

static int add_segment(struct elfsyms *es, const GElf_Phdr *ph)
{
	if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_X) || !ph->p_filesz)
		return 0;
	if (es->n_segments == SEGMENTS_MAX || ph->p_offset + ph->p_filesz < ph->p_offset)
		return -EINVAL;
	es->segments[es->n_segments++] = (struct segment){
		.offset = ph->p_offset,
		.vaddr = ph->p_vaddr,
		.bytes = ph->p_filesz,
	};
	return 0;
}

static int read_segments(struct loader *l)
{
	size_t n;

	if (elf_getphdrnum(l->elf, &n))
		return -EINVAL;
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr ph;

		if (!gelf_getphdr(l->elf, i, &ph) || add_segment(l->es, &ph))
			return -EINVAL;
	}
	return 0;
}

static void add_section(struct loader *l, const GElf_Shdr *sh)
{
	if (!(sh->sh_flags & SHF_ALLOC) || !(sh->sh_flags & SHF_EXECINSTR) ||
	    sh->sh_addr + sh->sh_size <= sh->sh_addr)
		return;
	l->sections = mem_grow(l->sections, l->n_sections, &l->sections_cap, sizeof(*l->sections));
	l->sections[l->n_sections].addr = sh->sh_addr;
	l->sections[l->n_sections++].value = sh->sh_addr + sh->sh_size;
}

static int read_sections(struct loader *l)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(l->elf, scn))) {
		GElf_Shdr sh;

		if (!gelf_getshdr(scn, &sh))
			return -EINVAL;
		add_section(l, &sh);
	}
	addrsort(l->sections, l->n_sections);
	return 0;
}

/* The executable section that holds addr, or NULL. Neighbours are mostly in the same one. */
static const struct addr_item *find_section(struct loader *l, uint64_t addr)
{
	const struct addr_item *s = l->last_section;
	size_t rank;

	if (s && addr >= s->addr && addr < s->value)
		return s;
	rank = addrsort_rank(l->sections, l->n_sections, addr);
	s = rank ? &l->sections[rank - 1] : NULL;
	if (!s || addr >= s->value)
		return NULL;
	return l->last_section = s;
}

static Elf_Data *read_data(struct loader *l, Elf_Scn *scn)
{
	GElf_Shdr sh;

	if (!scn || !gelf_getshdr(scn, &sh) || sh.sh_type == SHT_NOBITS ||
	    (sh.sh_flags & SHF_COMPRESSED) || sh.sh_size > SECTION_MAX_BYTES ||
	    !is_within(sh.sh_offset, sh.sh_size, l->file_bytes))
		return NULL;
	return elf_getdata(scn, NULL);
}

static int read_strings(struct loader *l, unsigned int table, Elf_Scn *scn)
{
	Elf_Data *data = read_data(l, scn);
	const char *last;

	if (!data)
		return -EINVAL;
	last = data->d_size ? memrchr(data->d_buf, '\0', data->d_size) : NULL;
	l->strings[table].text = data->d_buf;
	l->strings[table].size = last ? (size_t)(last - (const char *)data->d_buf) + 1 : 0;
	return 0;
}

/* Marks of the assembler: .L labels, and $x, $d.1, ... between code and data (ARM, RISC-V). */
static bool is_assembler_mark(const char *name)
{
	if (name[0] == '.')
		return name[1] == 'L';
	return name[0] == '$' && name[1] && strchr("adtx", name[1]);
}

static bool is_function(const GElf_Sym *sym, const char *name)
{
	switch (GELF_ST_TYPE(sym->st_info)) {
	case STT_FUNC:
	case STT_GNU_IFUNC:
		return true;
	case STT_NOTYPE:
		return GELF_ST_BIND(sym->st_info) != STB_LOCAL || !is_assembler_mark(name);
	default:
		return false;
	}
}

/* Weak or global makes no difference in a linked file: glibc's read() is the weak one. */
static unsigned int rank_symbol(const GElf_Sym *sym)
{
	bool is_typed = GELF_ST_TYPE(sym->st_info) != STT_NOTYPE;

	return is_typed * 2 + (GELF_ST_BIND(sym->st_info) != STB_LOCAL);
}

static void add_candidate(struct loader *l, unsigned int table, const GElf_Sym *sym)
{
	const struct strings *strings = &l->strings[table];
	union candidate c = { .value = 0 };
	uint64_t addr = sym->st_value, size = sym->st_size;

	if (sym->st_shndx == SHN_UNDEF || sym->st_shndx == SHN_ABS || sym->st_shndx == SHN_COMMON ||
	    sym->st_name >= strings->size || !strings->text[sym->st_name] ||
	    !is_function(sym, strings->text + sym->st_name))
		return;
	if (l->is_arm)
		addr &= ~1ull; /* says Thumb, in functions */
	if (!find_section(l, addr))
		return;
	c.name = sym->st_name;
	c.size = size < SYMBOL_MAX_BYTES ? size : SYMBOL_MAX_BYTES;
	c.table = table;
	c.rank = rank_symbol(sym);
	l->candidates = mem_grow(l->candidates, l->n_candidates, &l->candidates_cap,
				 sizeof(*l->candidates));
	l->candidates[l->n_candidates++] = (struct addr_item){ .addr = addr, .value = c.value };
}

static int read_table(struct loader *l, unsigned int table, Elf_Scn *scn, const GElf_Shdr *sh)
{
	Elf_Data *data = read_data(l, scn);
	size_t entry_bytes = gelf_fsize(l->elf, ELF_T_SYM, 1, EV_CURRENT);

	if (!data || !entry_bytes || read_strings(l, table, elf_getscn(l->elf, sh->sh_link)))
		return -EINVAL;
	for (size_t i = 1; i < data->d_size / entry_bytes; i++) {
		GElf_Sym sym;

		if (!gelf_getsym(data, i, &sym))
			return -EINVAL;
		add_candidate(l, table, &sym);
	}
	return 0;
}

/* The gABI allows one table of each type. */
static int read_tables(struct loader *l)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(l->elf, scn))) {
		unsigned int table;
		GElf_Shdr sh;

		if (!gelf_getshdr(scn, &sh))
			return -EINVAL;
		if (sh.sh_type != SHT_SYMTAB && sh.sh_type != SHT_DYNSYM)
			continue;
		table = sh.sh_type == SHT_SYMTAB ? TABLE_SYMTAB : TABLE_DYNSYM;
		if (l->strings[table].text || read_table(l, table, scn, &sh))
			return -EINVAL;
	}
	addrsort(l->candidates, l->n_candidates);
	return 0;
}

static union candidate candidate_of(const struct addr_item *item)
{
	return (union candidate){ .value = item->value };
}

static const char *candidate_name(const struct loader *l, union candidate c)
{
	return l->strings[c.table].text + c.name;
}

static bool is_better(const struct loader *l, union candidate a, union candidate b)
{
	const char *x = candidate_name(l, a), *y = candidate_name(l, b);
	size_t x_underscores = strspn(x, "_"), y_underscores = strspn(y, "_");

	if (a.rank != b.rank)
		return a.rank > b.rank;
	if (a.size != b.size)
		return a.size > b.size;
	if (x_underscores != y_underscores)
		return x_underscores < y_underscores;
	return strnlen(x, SYMBOL_NAME_MAX) < strnlen(y, SYMBOL_NAME_MAX);
}

/* Keeps the best symbol for each address. */
static void drop_duplicates(struct loader *l)
{
	size_t kept = 0;

	for (size_t i = 0; i < l->n_candidates; i++) {
		struct addr_item *c = &l->candidates[i];
		struct addr_item *best = kept ? &l->candidates[kept - 1] : NULL;

		if (!best || best->addr != c->addr)
			l->candidates[kept++] = *c;
		else if (is_better(l, candidate_of(c), candidate_of(best)))
			*best = *c;
	}
	l->n_candidates = kept;
}

/* Versions are left out: what is called is memcpy, not memcpy@@GLIBC_2.14. */
static size_t name_length(const char *name)
{
	size_t n = strnlen(name, SYMBOL_NAME_MAX + 1);
	const char *at = n > 1 ? memchr(name + 1, '@', n - 1) : NULL;

	return at ? (size_t)(at - name) : n;
}

/*
 * Names that share their bytes in the file could add up to any size; those of real files hardly
 * exceed it. What is too much, and names too long to be true, are dropped.
 */
static bool copy_name(struct loader *l, union candidate c, uint32_t *offset)
{
	const char *name = candidate_name(l, c);
	size_t n = name_length(name);

	if (n > SYMBOL_NAME_MAX || n >= l->names_cap - l->names_used)
		return false;
	*offset = l->names_used;
	memcpy(l->es->names + l->names_used, name, n);
	l->names_used += n;
	l->es->names[l->names_used++] = '\0';
	return true;
}

static bool covers(const struct sym *s, uint64_t addr)
{
	return addr - s->addr < s->size;
}

/* Symbols that end before addr are never met again, so that all calls take linear time. */
static uint32_t find_parent(const struct elfsyms *es, uint64_t addr)
{
	uint32_t i = es->count ? es->count - 1 : NO_PARENT;

	while (i != NO_PARENT && !covers(&es->syms[i], addr))
		i = es->syms[i].parent;
	return i;
}

static uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* A label without a size inside a function that has one is a part of it, not its end. */
static void add_symbol(struct loader *l, const struct addr_item *item, uint64_t next)
{
	union candidate c = candidate_of(item);
	uint64_t end = find_section(l, item->addr)->value, reach;
	struct sym *sym = &l->es->syms[l->es->count];

	sym->parent = find_parent(l->es, item->addr);
	if (!c.size && sym->parent != NO_PARENT)
		return;
	reach = min_u64(end, c.size ? item->addr + c.size : next) - item->addr;
	sym->addr = item->addr;
	sym->size = min_u64(reach, SYMBOL_MAX_BYTES);
	if (copy_name(l, c, &sym->name))
		l->es->count++;
}

static void build_symbols(struct loader *l)
{
	size_t n = l->n_candidates;
	struct elfsyms *es = l->es;

	l->names_cap =
		2 * (l->strings[0].size + l->strings[1].size) + POOL_SPARE_BYTES; /* <= 2^30 + 4K */
	es->names = mem_realloc(NULL, l->names_cap, 1);
	es->syms = mem_realloc(NULL, n, sizeof(*es->syms));
	for (size_t i = 0; i < n; i++)
		add_symbol(l, &l->candidates[i],
			   i + 1 < n ? l->candidates[i + 1].addr : UINT64_MAX);
	es->names = mem_realloc(es->names, l->names_used, 1);
	es->syms = mem_realloc(es->syms, es->count, sizeof(*es->syms));
}

static int read_elf(struct loader *l)
{
	GElf_Ehdr eh;
	int err;

	if (elf_kind(l->elf) != ELF_K_ELF || !gelf_getehdr(l->elf, &eh))
		return -ENOEXEC;
	if (eh.e_type != ET_EXEC && eh.e_type != ET_DYN)
		return -ENOEXEC;
	l->is_arm = eh.e_machine == EM_ARM;
	if (eh.e_shoff > l->file_bytes)
		return -EINVAL;
	err = read_segments(l);
	if (!err)
		err = read_sections(l);
	return err ? err : read_tables(l);
}

/* Takes elf over. */
static struct elfsyms *load_elf(Elf *elf, uint64_t file_bytes)
{
	struct loader l = { .elf = elf, .file_bytes = file_bytes };
	int err = -ENOEXEC;

	if (elf) {
		l.es = mem_zalloc(1, sizeof(*l.es));
		err = read_elf(&l);
	}
	if (!err) {
		drop_duplicates(&l);
		build_symbols(&l);
	}
	elf_end(elf);
	free(l.sections);
	free(l.candidates);
	if (!err)
		return l.es;
	elfsyms_free(l.es);
	errno = -err;
	return NULL;
}

static bool check_header(const void *header, size_t size)
{
	errno = ENOEXEC;
	if (size < SELFMAG || memcmp(header, ELFMAG, SELFMAG))
		return false;
	errno = EINVAL;
	return has_sane_header(header, size) && elf_version(EV_CURRENT) != EV_NONE;
}

struct elfsyms *elfsyms_load(int fd)
{
	unsigned char header[sizeof(Elf64_Ehdr)];
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st))
		return NULL;
	n = pread(fd, header, sizeof(header), 0);
	if (n < 0 || !check_header(header, n))
		return NULL;
	return load_elf(elf_begin(fd, ELF_C_READ, NULL), st.st_size);
}

/* libelf wants a pointer to what it could change, but does not when it only reads. */
struct elfsyms *elfsyms_load_image(const void *image, size_t size)
{
	if (!check_header(image, size))
		return NULL;
	return load_elf(elf_memory((char *)image, size), size);
}

void elfsyms_free(struct elfsyms *es)
{
	if (!es)
		return;
	free(es->syms);
	free(es->names);
	free(es);
}

/* The number of symbols that start at or below vaddr. */
static size_t rank_address(const struct elfsyms *es, uint64_t vaddr)
{
	size_t low = 0, high = es->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (es->syms[mid].addr <= vaddr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

const char *elfsyms_find(const struct elfsyms *es, uint64_t vaddr, uint64_t *start)
{
	size_t rank = rank_address(es, vaddr);
	uint32_t i = rank ? rank - 1 : NO_PARENT;

	for (int depth = 0; depth < NESTING_MAX && i != NO_PARENT; depth++) {
		const struct sym *s = &es->syms[i];

		if (!covers(s, vaddr)) {
			i = s->parent;
			continue;
		}
		if (start)
			*start = s->addr;
		return es->names + s->name;
	}
	return NULL;
}

static bool holds(const struct segment *s, uint64_t offset, uint64_t slack_mask)
{
	uint64_t first = s->offset & ~slack_mask;
	uint64_t last = (s->offset + s->bytes - 1) | slack_mask;

	return offset >= first && offset <= last;
}

/* Mappings are whole pages: what lies around a segment in its first and last page is mapped too. */
uint64_t elfsyms_vaddr(const struct elfsyms *es, uint64_t file_offset)
{
	uint64_t masks[] = { 0, sysconf(_SC_PAGESIZE) - 1 };

	for (size_t m = 0; m < ARRAY_SIZE(masks); m++)
		for (size_t i = 0; i < es->n_segments; i++)
			if (holds(&es->segments[i], file_offset, masks[m]))
				return es->segments[i].vaddr +
				       (file_offset - es->segments[i].offset);
	return UINT64_MAX;
}

size_t elfsyms_count(const struct elfsyms *es)
{
	return es->count;
}
