// SPDX-License-Identifier: GPL-2.0-only
/*
 * Symbols of ELF files, on files made to order with libelf (both classes, both byte orders), on
 * this very program, and on broken copies of it.
 */
#include <gelf.h>
#include <sys/resource.h>

#include "process/procmaps.h"
#include "elf/elf64.h"
#include "symbols/elfsyms.h"
#include "../symbols/image.h"
#include "silent.h"
#include "self.h"
#include "unit.h"

#define TEXT_ADDR   0x401000
#define TEXT_BYTES  0x1000
#define TEXT_OFFSET 0x1234 /* where the program header says that it is in the file */

struct def {
	const char *name;
	uint64_t addr, size;
	unsigned char bind, type;
	unsigned int section; /* 0: .text */
};

static const char section_names[] = "\0.text\0.strtab\0.symtab\0.shstrtab\0.data";

static Elf_Scn *add_section(Elf *elf, const GElf_Shdr *header, void *bytes, size_t size,
			    Elf_Type data_type)
{
	Elf_Scn *scn = elf_newscn(elf);
	Elf_Data *data = elf_newdata(scn);
	GElf_Shdr sh = *header;

	data->d_buf = bytes;
	data->d_size = size;
	data->d_type = data_type;
	data->d_align = 8;
	data->d_version = EV_CURRENT;
	gelf_update_shdr(scn, &sh);
	return scn;
}

/* Sections: 1 .text, 2 .strtab, 3 .symtab, 4 .shstrtab, 5 .data. */
static void add_symbols(Elf *elf, const struct def *defs, size_t n, char *names)
{
	const GElf_Shdr table = { .sh_name = 15,
				  .sh_type = SHT_SYMTAB,
				  .sh_link = 2,
				  .sh_entsize = gelf_fsize(elf, ELF_T_SYM, 1, EV_CURRENT) };
	size_t used = 1, bytes = gelf_fsize(elf, ELF_T_SYM, n + 1, EV_CURRENT);
	Elf_Scn *symtab;

	for (size_t i = 0; i < n; i++)
		used = stpcpy(names + used, defs[i].name) + 1 - names;
	add_section(elf, &(GElf_Shdr){ 7, SHT_STRTAB }, names, used, ELF_T_BYTE);
	symtab = add_section(elf, &table, until_end(calloc(1, bytes)), bytes, ELF_T_SYM);
	used = 1;
	for (size_t i = 0; i < n; i++) {
		GElf_Sym sym = {
			.st_name = *defs[i].name ? used : 0,
			.st_info = GELF_ST_INFO(defs[i].bind, defs[i].type),
			.st_shndx = defs[i].section ? defs[i].section : 1,
			.st_value = defs[i].addr,
			.st_size = defs[i].size,
		};

		gelf_update_sym(elf_getdata(symtab, NULL), i + 1, &sym);
		used += strlen(defs[i].name) + 1;
	}
}

static void add_headers(Elf *elf, int class, int order, int machine)
{
	GElf_Ehdr eh;
	GElf_Phdr ph = {
		.p_type = PT_LOAD,
		.p_flags = PF_R | PF_X,
		.p_offset = TEXT_OFFSET,
		.p_vaddr = TEXT_ADDR,
		.p_filesz = TEXT_BYTES,
		.p_memsz = TEXT_BYTES,
	};

	gelf_newehdr(elf, class);
	gelf_getehdr(elf, &eh);
	eh.e_ident[EI_DATA] = order;
	eh.e_type = ET_DYN;
	eh.e_machine = machine;
	eh.e_version = EV_CURRENT;
	eh.e_shstrndx = 4;
	gelf_update_ehdr(elf, &eh);
	gelf_newphdr(elf, 1);
	gelf_update_phdr(elf, 0, &ph);
}

static struct elfsyms *es;
static int made[4]; /* files that names are read from */
static size_t n_made;

AFTER_EACH()
{
	elfsyms_free(es);
	es = NULL;
	while (n_made)
		close(made[--n_made]);
}

/* A memfd with such a file, closed at the end of the test. */
static int make_elf(const struct def *defs, size_t n, int class, int order, int machine)
{
	static char text[TEXT_BYTES], data[64], names[4 << 20], shstr[sizeof(section_names)];
	const GElf_Shdr code = { 1, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, TEXT_ADDR };
	const GElf_Shdr variables = { 33, SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, 0x600000 };
	int fd = memfd_create("elf", MFD_CLOEXEC);
	Elf *elf;

	elf_version(EV_CURRENT);
	memcpy(shstr, section_names, sizeof(shstr));
	elf = elf_begin(fd, ELF_C_WRITE, NULL);
	add_headers(elf, class, order, machine);
	add_section(elf, &code, text, sizeof(text), ELF_T_BYTE);
	add_symbols(elf, defs, n, names);
	add_section(elf, &(GElf_Shdr){ 23, SHT_STRTAB }, shstr, sizeof(shstr), ELF_T_BYTE);
	add_section(elf, &variables, data, sizeof(data), ELF_T_BYTE);
	if (elf_update(elf, ELF_C_WRITE) < 0)
		UNIT_FAIL("cannot make an ELF file: %s", elf_errmsg(-1));
	elf_end(elf);
	return made[n_made++] = fd;
}

static void load_as(const struct def *defs, size_t n, int class, int order, int machine)
{
	int fd = make_elf(defs, n, class, order, machine);

	elfsyms_free(es);
	es = elfsyms_load(fd, NULL);
	if (!es)
		UNIT_FAIL("cannot load: %s", strerror(errno));
}

static void load_defs(const struct def *defs, size_t n)
{
	load_as(defs, n, ELFCLASS64, ELFDATA2LSB, EM_X86_64);
}

static const char *name_at(uint64_t addr)
{
	return elfsyms_find(es, addr, NULL);
}

static const struct def simple[] = {
	{ "second", 0x401100, 0x80, STB_GLOBAL, STT_FUNC, 0 },
	{ "first", 0x401000, 0x100, STB_LOCAL, STT_FUNC, 0 },
	{ "resolver", 0x401800, 0x10, STB_GLOBAL, STT_GNU_IFUNC, 0 },
};

static int make_simple(void)
{
	return make_elf(simple, 3, ELFCLASS64, ELFDATA2LSB, EM_X86_64);
}

TEST(finds_functions_in_both_classes_and_byte_orders)
{
	static const struct {
		int class, order, machine;
	} files[] = {
		{ ELFCLASS64, ELFDATA2LSB, EM_X86_64 },
		{ ELFCLASS64, ELFDATA2MSB, EM_S390 },
		{ ELFCLASS32, ELFDATA2LSB, EM_386 },
		{ ELFCLASS32, ELFDATA2MSB, EM_PPC },
	};
	uint64_t start = 0;

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		load_as(simple, 3, files[i].class, files[i].order, files[i].machine);
		CHECK_EQ(elfsyms_count(es), 3);
		CHECK_STR(elfsyms_find(es, 0x401142, &start), "second");
		CHECK_EQ(start, 0x401100);
		CHECK_STR(NAMES(name_at, 0x401000, 0x4010ff, 0x40180f), "first, first, resolver");
		/* never beyond a function's size */
		CHECK_STR(NAMES(name_at, 0, 0x400fff, 0x401180, 0x4017ff, 0x401810, UINT64_MAX),
			  "-, -, -, -, -, -");
	}
}

TEST(ends_sizeless_symbols_at_the_next_one_or_the_section)
{
	static const struct def defs[] = {
		{ "asm_a", 0x401000, 0, STB_GLOBAL, STT_NOTYPE, 0 },
		{ "asm_b", 0x401200, 0, STB_LOCAL, STT_FUNC, 0 },
		{ "too_big", 0x401f00, 0xffffffff, STB_GLOBAL, STT_FUNC, 0 },
	};

	load_defs(defs, 3);
	CHECK_STR(NAMES(name_at, 0x4011ff, 0x401200, 0x401eff, 0x401fff, 0x402000),
		  "asm_a, asm_b, asm_b, too_big, -");
	load_defs(defs, 2);
	CHECK_STR(NAMES(name_at, 0x401fff, 0x402000), "asm_b, -");
}

/* The header of a file, whose bytes can be changed here, and those of its sections. */
static Elf64_Ehdr *change(int fd, Elf64_Shdr **sections)
{
	Elf64_Ehdr *eh =
		mmap(NULL, lseek(fd, 0, SEEK_END), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	CHECK(eh != MAP_FAILED);
	*sections = (Elf64_Shdr *)((char *)eh + eh->e_shoff);
	return eh;
}

/* The third section, the table of symbols, becomes one of exported ones; the code is that. */
static void load_stripped(const struct def *defs, size_t n, const void *code, size_t bytes)
{
	int fd = make_elf(defs, n, ELFCLASS64, ELFDATA2LSB, EM_X86_64);
	Elf64_Shdr *sh;
	Elf64_Ehdr *eh = change(fd, &sh);

	sh[3].sh_type = SHT_DYNSYM;
	((Elf64_Phdr *)((char *)eh + eh->e_phoff))->p_offset = sh[1].sh_offset;
	memcpy((char *)eh + sh[1].sh_offset, code, bytes);
	es = elfsyms_load(fd, NULL);
}

/* Hidden functions lie behind it, as those that musl has written in assembly. */
TEST(ends_sizeless_symbols_with_their_code_where_only_exported_ones_are_known)
{
	static const struct def defs[] = {
		{ "memset", 0x401000, 0, STB_GLOBAL, STT_FUNC, 0 },
		{ "setjmp", 0x401010, 0, STB_GLOBAL, STT_NOTYPE, 0 },
		{ "sized", 0x401018, 8, STB_GLOBAL, STT_FUNC, 0 },
		{ "odd", 0x401020, 0, STB_GLOBAL, STT_FUNC, 0 },
	};
	static const uint8_t code[] = {
		0x75, 0x01, 0xc3, 0x31, 0xc0, 0xc3,	/* jne +1; ret; xor %eax,%eax; ret */
		0x0f, 0x05, 0xc3, 0x90, 0x90, 0x90,	/* syscall; ret */
		0x90, 0x90, 0x90, 0x90, 0xff, 0x67, 56, /* jmp *56(%rdi) */
		0x0f, 0x05, 0xc3, 0x90, 0x90, 0xc3, 0,	0, 0, 0, 0, 0, 0, 0x06,
	};

	load_stripped(defs, ARRAY_SIZE(defs), code, sizeof(code));
	CHECK_STR(NAMES(name_at, 0x401000, 0x401005, 0x401006, 0x40100f, 0x401012, 0x401013),
		  "memset, memset, -, -, setjmp, -");
	/* the last has no instruction that is known */
	CHECK_STR(NAMES(name_at, 0x40101f, 0x401020, 0x401021), "sized, odd, -");
}

TEST(finds_the_enclosing_function)
{
	static const struct def defs[] = {
		{ "outer", 0x401000, 0x400, STB_GLOBAL, STT_FUNC, 0 },
		{ "inner", 0x401100, 0x100, STB_GLOBAL, STT_FUNC, 0 },
		{ "innermost", 0x401110, 0x10, STB_GLOBAL, STT_FUNC, 0 },
		{ "label", 0x401300, 0, STB_GLOBAL, STT_NOTYPE, 0 },
	};
	uint64_t start = 0;

	load_defs(defs, 4);
	CHECK_STR(elfsyms_find(es, 0x401200, &start), "outer");
	CHECK_EQ(start, 0x401000);
	CHECK_STR(NAMES(name_at, 0x401118, 0x401120, 0x401300, 0x401400),
		  "innermost, inner, outer, -");
}

TEST(prefers_the_name_that_a_person_would)
{
	static const struct def defs[] = {
		{ "typeless", 0x401000, 0x20, STB_GLOBAL, STT_NOTYPE, 0 },
		{ "typed", 0x401000, 0x10, STB_LOCAL, STT_FUNC, 0 },
		{ "local", 0x401100, 0x10, STB_LOCAL, STT_FUNC, 0 },
		{ "exported", 0x401100, 0x10, STB_WEAK, STT_FUNC, 0 },
		{ "small", 0x401200, 0x10, STB_GLOBAL, STT_FUNC, 0 },
		{ "larger", 0x401200, 0x20, STB_GLOBAL, STT_FUNC, 0 },
		{ "__libc_read", 0x401300, 0x10, STB_GLOBAL, STT_FUNC, 0 },
		{ "read", 0x401300, 0x10, STB_WEAK, STT_FUNC, 0 },
		{ "__read", 0x401300, 0x10, STB_GLOBAL, STT_FUNC, 0 },
		{ "pread64", 0x401400, 0x10, STB_GLOBAL, STT_FUNC, 0 },
		{ "pread", 0x401400, 0x10, STB_GLOBAL, STT_FUNC, 0 },
		{ "memcpy@@GLIBC_2.14", 0x401500, 0x10, STB_GLOBAL, STT_FUNC, 0 },
	};

	load_defs(defs, ARRAY_SIZE(defs));
	CHECK_STR(NAMES(name_at, 0x401000, 0x401100, 0x401200, 0x401300, 0x401400, 0x401500),
		  "typed, exported, larger, read, pread, memcpy");
}

TEST(takes_nothing_but_functions_for_an_answer)
{
	static const struct def defs[] = {
		{ "object", 0x401000, 0x10, STB_GLOBAL, STT_OBJECT, 0 },
		{ "section", 0x401010, 0x10, STB_LOCAL, STT_SECTION, 0 },
		{ "file.c", 0x401020, 0x10, STB_LOCAL, STT_FILE, SHN_ABS },
		{ "tls", 0x401030, 0x10, STB_GLOBAL, STT_TLS, 0 },
		{ "undefined", 0x401040, 0x10, STB_GLOBAL, STT_FUNC, SHN_COMMON },
		{ "absolute", 0x401050, 0x10, STB_GLOBAL, STT_FUNC, SHN_ABS },
		{ "in_data", 0x600000, 0x10, STB_GLOBAL, STT_NOTYPE, 5 },
		{ ".Lbranch", 0x401060, 0x10, STB_LOCAL, STT_NOTYPE, 0 },
		{ "$x", 0x401070, 0x10, STB_LOCAL, STT_NOTYPE, 0 },
		{ "$d.7", 0x401080, 0x10, STB_LOCAL, STT_NOTYPE, 0 },
		{ "", 0x401090, 0x10, STB_GLOBAL, STT_FUNC, 0 },
		{ "etext", 0x402000, 0, STB_GLOBAL, STT_NOTYPE, 0 },
	};

	load_defs(defs, ARRAY_SIZE(defs));
	CHECK_EQ(elfsyms_count(es), 0);
	CHECK(!name_at(0x401005));
}

TEST(clears_the_thumb_bit)
{
	static const struct def defs[] = { { "thumb", 0x401101, 0x10, STB_GLOBAL, STT_FUNC, 0 } };

	load_as(defs, 1, ELFCLASS32, ELFDATA2LSB, EM_ARM);
	CHECK_STR(NAMES(name_at, 0x401100, 0x401110), "thumb, -");
}

TEST(drops_names_that_are_too_long)
{
	char *name = until_end(calloc(1, 70001));
	struct def defs[] = { { name, 0x401000, 0x10, STB_GLOBAL, STT_FUNC, 0 },
			      { "f", 0x401010, 0x10, STB_GLOBAL, STT_FUNC, 0 } };

	memset(name, 'x', 70000);
	load_defs(defs, 2);
	CHECK_STR(NAMES(name_at, 0x401000, 0x401010), "-, f");
	name[60000] = '\0';
	load_defs(defs, 2);
	CHECK_STR(name_at(0x401000), name);
}

TEST(translates_file_offsets)
{
	load_defs(simple, 3);
	CHECK_EQ(elfsyms_vaddr(es, TEXT_OFFSET), TEXT_ADDR);
	CHECK_EQ(elfsyms_vaddr(es, TEXT_OFFSET + TEXT_BYTES - 1), TEXT_ADDR + TEXT_BYTES - 1);
	/* The first and last pages are mapped as a whole. */
	CHECK_EQ(elfsyms_vaddr(es, 0x1000), TEXT_ADDR - 0x234);
	CHECK_EQ(elfsyms_vaddr(es, 0x2fff), TEXT_ADDR + 0x2fff - TEXT_OFFSET);
	CHECK_EQ(elfsyms_vaddr(es, 0x3000 + sysconf(_SC_PAGESIZE)), UINT64_MAX);
	CHECK_EQ(elfsyms_vaddr(es, UINT64_MAX), UINT64_MAX);
}

/* 0: not refused */
static int refusal(struct elfsyms *loaded)
{
	int err = errno;

	elfsyms_free(loaded);
	return loaded ? 0 : err;
}

TEST(refuses_what_is_not_elf)
{
	int fd = memory_file("", 0);

	CHECK_EQ(refusal(elfsyms_load(fd, NULL)), ENOEXEC);
	CHECK_EQ(refusal(elfsyms_load_image("#!/bin/sh\n", 10)), ENOEXEC);
	CHECK_EQ(refusal(elfsyms_load_image("\177ELF\2\1\1", 8)), EINVAL);
	close(fd);
	CHECK_EQ(refusal(elfsyms_load(fd, NULL)), EBADF);
}

TEST(refuses_tables_beyond_the_file)
{
	int fd = make_simple();
	Elf64_Shdr *sh;
	Elf64_Ehdr *eh = change(fd, &sh);

	CHECK_EQ(sh[3].sh_type, SHT_SYMTAB);
	sh[3].sh_size = 8ull << 30;
	CHECK_EQ(refusal(elfsyms_load(fd, NULL)), EINVAL);
	/* Holes in the file cost nothing to who claims them, but would cost the reader. */
	CHECK_EQ(ftruncate(fd, 16ll << 30), 0);
	CHECK(!elfsyms_load(fd, NULL));
	eh->e_shnum = 0; /* the count is in the first section header */
	CHECK_EQ(refusal(elfsyms_load(fd, NULL)), EINVAL);
}

/* The dynamic linker's symbols are still there. */
TEST(a_broken_table_costs_its_own_names_only)
{
	int fd = make_simple();
	Elf64_Shdr *sh;

	change(fd, &sh);
	sh[5] = sh[3]; /* in place of data */
	sh[5].sh_type = SHT_DYNSYM;
	sh[3].sh_size = 8ull << 30;
	es = elfsyms_load(fd, NULL);
	CHECK(es && elfsyms_count(es) == ARRAY_SIZE(simple));
}

/*
 * Functions or marks of a byte each, whose names are one text of `letters` letters, every second
 * one from its letter `later` on.
 */
static int make_sharing(size_t n, size_t letters, uint32_t later, unsigned char bind,
			unsigned char type)
{
	struct def *defs = until_end(calloc(n, sizeof(*defs)));
	char *name = until_end(calloc(1, letters + 1));
	Elf64_Shdr *sh;
	Elf64_Sym *syms;
	int fd;

	memset(name, 'x', letters);
	for (size_t i = 0; i < n; i++)
		defs[i] = (struct def){ i ? "" : name, TEXT_ADDR + i, 1, bind, type, 0 };
	fd = make_elf(defs, n, ELFCLASS64, ELFDATA2LSB, EM_X86_64);
	syms = (Elf64_Sym *)((char *)change(fd, &sh) + sh[3].sh_offset);
	for (size_t i = 1; i <= n; i++)
		syms[i].st_name = 1 + (uint32_t)(i % 2) * later;
	return fd;
}

TEST(names_that_share_their_bytes_take_them_once)
{
	enum { N = 4000, LONG = 60000 };
	int fd = make_sharing(N, LONG, 0, STB_GLOBAL, STT_FUNC);
	char *name = until_end(calloc(1, LONG + 1));

	memset(name, 'x', LONG);
	es = elfsyms_load(fd, NULL);
	CHECK_EQ(elfsyms_count(es), N);
	CHECK_STR(name_at(TEXT_ADDR + N - 1), name);
	CHECK(elfsyms_bytes(es) < 2 * LONG + N * 24);
}

/* An absurdly long text is not a name, but its tail is one, if a name begins late enough in it. */
TEST(absurd_names_are_not_kept)
{
	enum { LONG = 1 << 20 };
	static const char tail[] = "tail";
	struct def defs[] = {
		{ NULL, TEXT_ADDR, 1, STB_GLOBAL, STT_FUNC, 0 },
		{ "", TEXT_ADDR + 1, 1, STB_GLOBAL, STT_FUNC, 0 },
		{ "", TEXT_ADDR + 2, 1, STB_GLOBAL, STT_FUNC, 0 },
		{ "other", TEXT_ADDR + 3, 1, STB_GLOBAL, STT_FUNC, 0 },
	};
	uint32_t places[] = { 0, 1 + 5000, 1 + LONG - (sizeof(tail) - 1) };
	char *name = until_end(calloc(1, LONG + 1));
	Elf64_Shdr *sh;
	Elf64_Sym *syms;
	int fd;

	memset(name, 'x', LONG);
	memcpy(name + LONG - (sizeof(tail) - 1), tail, sizeof(tail));
	defs[0].name = name;
	fd = make_elf(defs, 4, ELFCLASS64, ELFDATA2LSB, EM_X86_64);
	syms = (Elf64_Sym *)((char *)change(fd, &sh) + sh[3].sh_offset);
	for (size_t i = 1; i < 3; i++)
		syms[i + 1].st_name = places[i];
	es = elfsyms_load(fd, NULL);
	CHECK_EQ(elfsyms_count(es), 4);
	CHECK_STR(NAMES(name_at, TEXT_ADDR, TEXT_ADDR + 1, TEXT_ADDR + 2, TEXT_ADDR + 3),
		  "-, -, tail, other");
	CHECK(elfsyms_bytes(es) < LONG / 4);
}

#ifndef __SANITIZE_ADDRESS__ /* which needs much more */

static uint64_t data_bytes(void)
{
	unsigned long long kb = 0;
	FILE *f = fopen("/proc/self/status", "re");
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "VmData: %llu kB", &kb);
	if (f)
		fclose(f);
	return kb << 10;
}

/* As a child that can have so many bytes more. */
static bool loads_within(int fd, uint64_t bytes)
{
	struct rlimit limit = { data_bytes() + bytes, data_bytes() + bytes };
	pid_t child = fork();
	int status = 0, said;

	if (!child) {
		divert(stderr, &said);
		setrlimit(RLIMIT_DATA, &limit);
		_exit(!elfsyms_load(fd, NULL));
	}
	waitpid(child, &status, 0);
	return status == 0;
}

/* 4 MB of names stay in the file. */
TEST(names_are_not_in_memory)
{
	enum { N = 4000, LONG = 1000 };
	struct def *defs = until_end(calloc(N, sizeof(*defs)));
	char *names = until_end(malloc((LONG + 1) * N));
	int fd;

	for (size_t i = 0; i < N; i++) {
		char *name = names + i * (LONG + 1);

		snprintf(name, LONG + 1, "%0*zu", LONG, i);
		name[0] = 'f';
		defs[i] = (struct def){ name, TEXT_ADDR + i, 1, STB_GLOBAL, STT_FUNC, 0 };
	}
	fd = make_elf(defs, N, ELFCLASS64, ELFDATA2LSB, EM_X86_64);
	CHECK(loads_within(fd, 1 << 20));
}

#endif

static uint64_t bytes_read(void)
{
	unsigned long long bytes = 0;
	FILE *f = fopen("/proc/self/io", "re");

	if (f && fscanf(f, "rchar: %llu", &bytes) != 1)
		bytes = 0;
	if (f)
		fclose(f);
	return bytes;
}

/* Local ones without type may be marks of the assembler, which the beginning of a name shows. */
TEST(names_without_end_are_not_read_while_symbols_are_found)
{
	enum { N = 2000, LONG = 1 << 20 };
	int fd = make_sharing(N, LONG, LONG / 2, STB_LOCAL, STT_NOTYPE);
	uint64_t before = bytes_read();

	es = elfsyms_load(fd, NULL);
	CHECK_EQ(elfsyms_count(es), N);
	CHECK(!before || bytes_read() - before < N * 1024);
}

/* Processor time to name an address at which so many functions begin, all of one long name. */
static clock_t time_to_name(size_t n_functions)
{
	enum { LONG = 60000 };
	static char code[1];
	Elf64_Sym *syms = until_end(calloc(n_functions + 1, sizeof(*syms)));
	char *names = until_end(calloc(1, LONG + 2));
	struct image_section sections[] = {
		{ ".text", SHT_PROGBITS, IMAGE_CODE, TEXT_ADDR, code, sizeof(code), 0 },
		{ ".symtab", SHT_SYMTAB, 0, 0, syms, (n_functions + 1) * sizeof(*syms), 3 },
		{ ".strtab", SHT_STRTAB, 0, 0, names, LONG + 2, 0 },
	};
	uint8_t *image;
	clock_t start;
	size_t size;

	memset(names + 1, 'x', LONG);
	for (size_t i = 1; i <= n_functions; i++)
		syms[i] = (Elf64_Sym){ .st_name = 1,
				       .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
				       .st_shndx = 1,
				       .st_value = TEXT_ADDR,
				       .st_size = 1 };
	image = until_end(image_make(sections, ARRAY_SIZE(sections), EM_X86_64, &size));
	elfsyms_free(es);
	es = elfsyms_load_image(image, size);
	start = clock();
	CHECK_STR(name_at(TEXT_ADDR), names + 1);
	return clock() - start;
}

TEST(bounds_the_names_of_one_address_that_are_compared)
{
	clock_t of_few = time_to_name(4096);

	CHECK(time_to_name((size_t)50 * 4096) < 10 * of_few);
}

__attribute__((noinline)) static int known_function(void)
{
	static volatile int calls;

	return ++calls;
}

static int (*volatile call_known)(void) = known_function;

/* The file offset of known_function(), as the kernel tells it. */
static uint64_t known_offset(void)
{
	uint64_t addr = (uintptr_t)call_known, offset = UINT64_MAX;
	struct mappings maps;
	const struct mapping *m;

	mappings_read(&maps, getpid());
	m = mappings_find(&maps, addr);
	if (m)
		offset = addr - m->start + m->offset;
	mappings_free(&maps);
	return offset;
}

static void check_known(void)
{
	uint64_t start = 0, vaddr = elfsyms_vaddr(es, known_offset() + 1);

	CHECK_STR(elfsyms_find(es, vaddr, &start), "known_function");
	CHECK_EQ(start, vaddr - 1);
}

/* Which of them holds an address would depend on which was asked for before. */
TEST(sections_that_overlap_end_at_the_next_one)
{
	static const char names[] = "\0first\0second\0third", code[0x63];
	Elf64_Sym syms[] = { {},
			     { .st_name = 1, .st_value = 0x1002 },
			     { .st_name = 7, .st_value = 0x1046 },
			     { .st_name = 14, .st_value = 0x1000 } };
	const struct image_section sections[] = {
		{ ".x", SHT_PROGBITS, IMAGE_CODE, 0x1000, code, 3, 0 },
		{ ".a", SHT_PROGBITS, IMAGE_CODE, 0x1001, code, 0x63, 0 },
		{ ".b", SHT_PROGBITS, IMAGE_CODE, 0x1032, code, 10, 0 },
		{ ".symtab", SHT_SYMTAB, 0, 0, syms, sizeof(syms), 5 },
		{ ".strtab", SHT_STRTAB, 0, 0, names, sizeof(names), 0 },
	};
	uint8_t *image;
	size_t size;

	for (size_t i = 1; i < ARRAY_SIZE(syms); i++) {
		syms[i].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
		syms[i].st_shndx = 1;
		syms[i].st_size = 1;
	}
	image = until_end(image_make(sections, ARRAY_SIZE(sections), EM_X86_64, &size));
	es = elfsyms_load_image(image, size);
	CHECK_STR(NAMES(name_at, 0x1000, 0x1002, 0x1046), "third, first, -");
}

TEST(finds_this_programs_functions_in_file_and_image)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	unsigned char *image;
	size_t size;

	es = elfsyms_load(fd, NULL);
	check_known();
	elfsyms_free(es);
	close(fd);
	image = read_self(&size);
	es = elfsyms_load_image(image, size);
	check_known();
}

static void probe(struct elfsyms *broken)
{
	if (!broken)
		return;
	for (uint64_t offset = 0; offset < 1 << 18; offset += 509) {
		uint64_t vaddr = elfsyms_vaddr(broken, offset);
		const char *name = elfsyms_find(broken, vaddr, NULL);

		if (name && !*name)
			UNIT_FAIL("an empty name at %#llx", (unsigned long long)vaddr);
	}
	elfsyms_free(broken);
}

TEST(survives_truncation)
{
	size_t size;
	unsigned char *image = read_self(&size);
	int fd = memory_file(image, size);

	for (size_t cut = 1; cut < 150; cut++) {
		size_t n = cut < 100 ? cut : size - (cut - 99) * (size / 51);
		unsigned char *part = malloc(n);

		memcpy(part, image, n);
		probe(elfsyms_load_image(part, n));
		free(part);
	}
	for (size_t cut = 1; cut < 60; cut++) {
		CHECK_EQ(ftruncate(fd, size - cut * (size / 60)), 0);
		probe(elfsyms_load(fd, NULL));
	}
	close(fd);
}

/* Returns a byte whose change matters: in the headers or, less often, the symbols. */
static size_t choose_byte(const unsigned char *image, size_t size, uint32_t random)
{
	Elf64_Ehdr eh;

	memcpy(&eh, image, sizeof(eh));
	switch (random & 3) {
	case 0:
		return (random >> 8) % 64;
	case 1:
		return (eh.e_shoff + (random >> 8) % (eh.e_shnum * eh.e_shentsize)) % size;
	case 2:
		return (eh.e_phoff + (random >> 8) % (eh.e_phnum * eh.e_phentsize)) % size;
	default:
		return (random >> 8) % size;
	}
}

TEST(survives_changed_bytes)
{
	size_t size;
	unsigned char *image = read_self(&size);
	int fd = memory_file(image, size);
	uint32_t random = 1;

	for (int i = 0; i < 600; i++) {
		unsigned char *copy = malloc(size);

		memcpy(copy, image, size);
		for (int j = 0; j <= i % 3; j++) {
			random = random * 1664525 + 1013904223;
			copy[choose_byte(image, size, random >> 4)] ^= 1u << (random >> 29);
		}
		if (i % 4 == 0 && pwrite(fd, copy, size, 0) == (ssize_t)size)
			probe(elfsyms_load(fd, NULL));
		else
			probe(elfsyms_load_image(copy, size));
		free(copy);
	}
	close(fd);
}

/* Their number, and that of their names, are in the first one (chapter 4 of the gABI). */
static void set_n_sections(int fd, uint64_t n)
{
	const uint64_t at = 1 << 20;
	Elf64_Shdr *sh;
	Elf64_Ehdr *eh;

	CHECK_EQ(ftruncate(fd, (off_t)(at + n * sizeof(*sh))), 0);
	eh = change(fd, &sh);
	sh[0].sh_size = n;
	sh[0].sh_link = eh->e_shstrndx;
	memcpy((char *)eh + at, sh, eh->e_shnum * sizeof(*sh));
	eh->e_shnum = 0;
	eh->e_shstrndx = SHN_XINDEX;
	eh->e_shoff = at;
}

TEST(a_file_with_very_many_sections_has_names)
{
	int fd = make_simple();
	struct elf64 elf;
	Elf64_Shdr found;

	set_n_sections(fd, 66000);
	CHECK_EQ(elf64_open(&elf, fd), 0);
	CHECK_EQ(elf64_find_section(&elf, ".symtab", &found), 0);
	es = elfsyms_load(fd, NULL);
	CHECK_STR(name_at(simple[0].addr), simple[0].name);
}

/* A file for whose sections libelf would need absurd amounts of memory is refused. */
TEST(a_file_with_millions_of_sections_is_refused)
{
	int fd = make_simple();

	set_n_sections(fd, 1 << 19);
	CHECK_EQ(refusal(elfsyms_load(fd, NULL)), EINVAL);
}
