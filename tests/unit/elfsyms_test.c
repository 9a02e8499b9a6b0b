// SPDX-License-Identifier: GPL-2.0-only
/*
 * Symbols of ELF files, on files made to order with libelf (both classes, both byte orders), on
 * this very program, and on broken copies of it.
 */
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "process/procmaps.h"
#include "elf/elf64.h"
#include "symbols/elfsyms.h"
#include "../symbols/image.h"
#include "silent.h"
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

static Elf_Scn *add_section(Elf *elf, size_t name, unsigned int type, void *bytes, size_t size,
			    Elf_Type data_type)
{
	Elf_Scn *scn = elf_newscn(elf);
	Elf_Data *data = elf_newdata(scn);
	GElf_Shdr sh;

	data->d_buf = bytes;
	data->d_size = size;
	data->d_type = data_type;
	data->d_align = 8;
	data->d_version = EV_CURRENT;
	gelf_getshdr(scn, &sh);
	sh.sh_name = name;
	sh.sh_type = type;
	gelf_update_shdr(scn, &sh);
	return scn;
}

static void place_section(Elf_Scn *scn, uint64_t flags, uint64_t addr)
{
	GElf_Shdr sh;

	gelf_getshdr(scn, &sh);
	sh.sh_flags = flags;
	sh.sh_addr = addr;
	gelf_update_shdr(scn, &sh);
}

/* Sections: 1 .text, 2 .strtab, 3 .symtab, 4 .shstrtab, 5 .data. */
static void add_symbols(Elf *elf, const struct def *defs, size_t n, char *names)
{
	Elf_Scn *strtab, *symtab;
	size_t used = 1, bytes = gelf_fsize(elf, ELF_T_SYM, n + 1, EV_CURRENT);
	GElf_Shdr sh;

	for (size_t i = 0; i < n; i++)
		used = stpcpy(names + used, defs[i].name) + 1 - names;
	strtab = add_section(elf, 7, SHT_STRTAB, names, used, ELF_T_BYTE);
	symtab = add_section(elf, 15, SHT_SYMTAB, calloc(1, bytes), bytes, ELF_T_SYM);
	used = 1;
	for (size_t i = 0; i < n; i++) {
		GElf_Sym sym = {
			.st_name = used,
			.st_info = GELF_ST_INFO(defs[i].bind, defs[i].type),
			.st_shndx = defs[i].section ? defs[i].section : 1,
			.st_value = defs[i].addr,
			.st_size = defs[i].size,
		};

		gelf_update_sym(elf_getdata(symtab, NULL), i + 1, &sym);
		used += strlen(defs[i].name) + 1;
	}
	gelf_getshdr(symtab, &sh);
	sh.sh_link = elf_ndxscn(strtab);
	sh.sh_entsize = gelf_fsize(elf, ELF_T_SYM, 1, EV_CURRENT);
	gelf_update_shdr(symtab, &sh);
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

/* A memfd with such a file. */
static int make_elf(const struct def *defs, size_t n, int class, int order, int machine)
{
	static char text[TEXT_BYTES], data[64], names[4 << 20], shstr[sizeof(section_names)];
	int fd = memfd_create("elf", MFD_CLOEXEC);
	Elf *elf;
	Elf_Data *symbols;
	void *symbol_bytes;

	elf_version(EV_CURRENT);
	memcpy(shstr, section_names, sizeof(shstr));
	elf = elf_begin(fd, ELF_C_WRITE, NULL);
	add_headers(elf, class, order, machine);
	place_section(add_section(elf, 1, SHT_PROGBITS, text, sizeof(text), ELF_T_BYTE),
		      SHF_ALLOC | SHF_EXECINSTR, TEXT_ADDR);
	add_symbols(elf, defs, n, names);
	add_section(elf, 23, SHT_STRTAB, shstr, sizeof(shstr), ELF_T_BYTE);
	place_section(add_section(elf, 33, SHT_PROGBITS, data, sizeof(data), ELF_T_BYTE),
		      SHF_ALLOC | SHF_WRITE, 0x600000);
	symbols = elf_getdata(elf_getscn(elf, 3), NULL);
	symbol_bytes = symbols->d_buf;
	if (elf_update(elf, ELF_C_WRITE) < 0)
		UNIT_FAIL("cannot make an ELF file: %s", elf_errmsg(-1));
	elf_end(elf);
	free(symbol_bytes);
	return fd;
}

static struct elfsyms *load_as(const struct def *defs, size_t n, int class, int order, int machine)
{
	int fd = make_elf(defs, n, class, order, machine);
	struct elfsyms *es = elfsyms_load(fd, NULL);

	if (!es)
		UNIT_FAIL("cannot load: %s", strerror(errno));
	close(fd);
	return es;
}

static struct elfsyms *load_defs(const struct def *defs, size_t n)
{
	return load_as(defs, n, ELFCLASS64, ELFDATA2LSB, EM_X86_64);
}

/* "" for nothing. */
static const char *name_at(const struct elfsyms *es, uint64_t addr)
{
	const char *name = elfsyms_find(es, addr, NULL);

	return name ? name : "";
}

static const struct def simple[] = {
	{ "second", 0x401100, 0x80, STB_GLOBAL, STT_FUNC, 0 },
	{ "first", 0x401000, 0x100, STB_LOCAL, STT_FUNC, 0 },
	{ "resolver", 0x401800, 0x10, STB_GLOBAL, STT_GNU_IFUNC, 0 },
};

static void check_simple(struct elfsyms *es)
{
	uint64_t start = 0;

	CHECK_EQ(elfsyms_count(es), 3);
	CHECK_STR(name_at(es, 0x401000), "first");
	CHECK_STR(name_at(es, 0x4010ff), "first");
	CHECK_STR(elfsyms_find(es, 0x401142, &start), "second");
	CHECK_EQ(start, 0x401100);
	CHECK_STR(name_at(es, 0x40180f), "resolver");
	elfsyms_free(es);
}

TEST(finds_functions_in_both_classes_and_byte_orders)
{
	check_simple(load_as(simple, 3, ELFCLASS64, ELFDATA2LSB, EM_X86_64));
	check_simple(load_as(simple, 3, ELFCLASS64, ELFDATA2MSB, EM_S390));
	check_simple(load_as(simple, 3, ELFCLASS32, ELFDATA2LSB, EM_386));
	check_simple(load_as(simple, 3, ELFCLASS32, ELFDATA2MSB, EM_PPC));
}

TEST(never_answers_beyond_a_functions_size)
{
	struct elfsyms *es = load_defs(simple, 3);

	CHECK_STR(name_at(es, 0), "");
	CHECK_STR(name_at(es, 0x400fff), "");
	CHECK_STR(name_at(es, 0x401180), "");
	CHECK_STR(name_at(es, 0x4017ff), "");
	CHECK_STR(name_at(es, 0x401810), "");
	CHECK_STR(name_at(es, UINT64_MAX), "");
	elfsyms_free(es);
}

TEST(ends_sizeless_symbols_at_the_next_one_or_the_section)
{
	static const struct def defs[] = {
		{ "asm_a", 0x401000, 0, STB_GLOBAL, STT_NOTYPE, 0 },
		{ "asm_b", 0x401200, 0, STB_LOCAL, STT_FUNC, 0 },
		{ "too_big", 0x401f00, 0xffffffff, STB_GLOBAL, STT_FUNC, 0 },
	};
	struct elfsyms *es = load_defs(defs, 3);

	CHECK_STR(name_at(es, 0x4011ff), "asm_a");
	CHECK_STR(name_at(es, 0x401200), "asm_b");
	CHECK_STR(name_at(es, 0x401eff), "asm_b");
	CHECK_STR(name_at(es, 0x401fff), "too_big");
	CHECK_STR(name_at(es, 0x402000), "");
	elfsyms_free(es);
	es = load_defs(defs, 2);
	CHECK_STR(name_at(es, 0x401fff), "asm_b");
	CHECK_STR(name_at(es, 0x402000), "");
	elfsyms_free(es);
}

/* The third section, the table of symbols, becomes one of exported ones; the code is that. */
static struct elfsyms *load_stripped(const struct def *defs, size_t n, const void *code,
				     size_t bytes)
{
	int fd = make_elf(defs, n, ELFCLASS64, ELFDATA2LSB, EM_X86_64);
	struct elfsyms *es;
	Elf64_Shdr text, table;
	Elf64_Phdr load;
	Elf64_Ehdr eh;

	CHECK_EQ(pread(fd, &eh, sizeof(eh), 0), sizeof(eh));
	CHECK_EQ(pread(fd, &text, sizeof(text), (off_t)(eh.e_shoff + sizeof(text))), sizeof(text));
	CHECK_EQ(pread(fd, &table, sizeof(table), (off_t)(eh.e_shoff + 3 * sizeof(table))),
		 sizeof(table));
	table.sh_type = SHT_DYNSYM;
	CHECK_EQ(pwrite(fd, &table, sizeof(table), (off_t)(eh.e_shoff + 3 * sizeof(table))),
		 sizeof(table));
	CHECK_EQ(pread(fd, &load, sizeof(load), (off_t)eh.e_phoff), sizeof(load));
	load.p_offset = text.sh_offset;
	CHECK_EQ(pwrite(fd, &load, sizeof(load), (off_t)eh.e_phoff), sizeof(load));
	CHECK_EQ(pwrite(fd, code, bytes, (off_t)text.sh_offset), bytes);
	es = elfsyms_load(fd, NULL);
	close(fd);
	return es;
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
	struct elfsyms *es = load_stripped(defs, ARRAY_SIZE(defs), code, sizeof(code));

	CHECK_STR(name_at(es, 0x401000), "memset");
	CHECK_STR(name_at(es, 0x401005), "memset");
	CHECK_STR(name_at(es, 0x401006), "");
	CHECK_STR(name_at(es, 0x40100f), "");
	CHECK_STR(name_at(es, 0x401012), "setjmp");
	CHECK_STR(name_at(es, 0x401013), "");
	CHECK_STR(name_at(es, 0x40101f), "sized");
	CHECK_STR(name_at(es, 0x401020), "odd"); /* no instruction that is known */
	CHECK_STR(name_at(es, 0x401021), "");
	elfsyms_free(es);
}

TEST(finds_the_enclosing_function)
{
	static const struct def defs[] = {
		{ "outer", 0x401000, 0x400, STB_GLOBAL, STT_FUNC, 0 },
		{ "inner", 0x401100, 0x100, STB_GLOBAL, STT_FUNC, 0 },
		{ "innermost", 0x401110, 0x10, STB_GLOBAL, STT_FUNC, 0 },
		{ "label", 0x401300, 0, STB_GLOBAL, STT_NOTYPE, 0 },
	};
	struct elfsyms *es = load_defs(defs, 4);
	uint64_t start = 0;

	CHECK_STR(name_at(es, 0x401118), "innermost");
	CHECK_STR(name_at(es, 0x401120), "inner");
	CHECK_STR(elfsyms_find(es, 0x401200, &start), "outer");
	CHECK_EQ(start, 0x401000);
	CHECK_STR(name_at(es, 0x401300), "outer");
	CHECK_STR(name_at(es, 0x401400), "");
	elfsyms_free(es);
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
	struct elfsyms *es = load_defs(defs, ARRAY_SIZE(defs));

	CHECK_STR(name_at(es, 0x401000), "typed");
	CHECK_STR(name_at(es, 0x401100), "exported");
	CHECK_STR(name_at(es, 0x401200), "larger");
	CHECK_STR(name_at(es, 0x401300), "read");
	CHECK_STR(name_at(es, 0x401400), "pread");
	CHECK_STR(name_at(es, 0x401500), "memcpy");
	elfsyms_free(es);
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
	struct elfsyms *es = load_defs(defs, ARRAY_SIZE(defs));

	CHECK_EQ(elfsyms_count(es), 0);
	CHECK_STR(name_at(es, 0x401005), "");
	elfsyms_free(es);
}

TEST(clears_the_thumb_bit)
{
	static const struct def defs[] = { { "thumb", 0x401101, 0x10, STB_GLOBAL, STT_FUNC, 0 } };
	struct elfsyms *es = load_as(defs, 1, ELFCLASS32, ELFDATA2LSB, EM_ARM);

	CHECK_STR(name_at(es, 0x401100), "thumb");
	CHECK_STR(name_at(es, 0x401110), "");
	elfsyms_free(es);
}

TEST(drops_names_that_are_too_long)
{
	char *name = calloc(1, 70001);
	struct def defs[] = { { name, 0x401000, 0x10, STB_GLOBAL, STT_FUNC, 0 },
			      { "f", 0x401010, 0x10, STB_GLOBAL, STT_FUNC, 0 } };
	struct elfsyms *es;

	memset(name, 'x', 70000);
	es = load_defs(defs, 2);
	CHECK_STR(name_at(es, 0x401000), "");
	CHECK_STR(name_at(es, 0x401010), "f");
	elfsyms_free(es);
	name[60000] = '\0';
	es = load_defs(defs, 2);
	CHECK_STR(name_at(es, 0x401000), name);
	elfsyms_free(es);
	free(name);
}

TEST(translates_file_offsets)
{
	struct elfsyms *es = load_defs(simple, 3);

	CHECK_EQ(elfsyms_vaddr(es, TEXT_OFFSET), TEXT_ADDR);
	CHECK_EQ(elfsyms_vaddr(es, TEXT_OFFSET + TEXT_BYTES - 1), TEXT_ADDR + TEXT_BYTES - 1);
	/* The first and last pages are mapped as a whole. */
	CHECK_EQ(elfsyms_vaddr(es, 0x1000), TEXT_ADDR - 0x234);
	CHECK_EQ(elfsyms_vaddr(es, 0x2fff), TEXT_ADDR + 0x2fff - TEXT_OFFSET);
	CHECK_EQ(elfsyms_vaddr(es, 0x3000 + sysconf(_SC_PAGESIZE)), UINT64_MAX);
	CHECK_EQ(elfsyms_vaddr(es, UINT64_MAX), UINT64_MAX);
	elfsyms_free(es);
}

TEST(refuses_what_is_not_elf)
{
	int fd = memfd_create("x", MFD_CLOEXEC);

	errno = 0;
	CHECK(!elfsyms_load(fd, NULL));
	CHECK_EQ(errno, ENOEXEC);
	errno = 0;
	CHECK(!elfsyms_load_image("#!/bin/sh\n", 10));
	CHECK_EQ(errno, ENOEXEC);
	errno = 0;
	CHECK(!elfsyms_load_image("\177ELF\2\1\1", 8));
	CHECK_EQ(errno, EINVAL);
	close(fd);
	errno = 0;
	CHECK(!elfsyms_load(fd, NULL));
	CHECK_EQ(errno, EBADF);
}

TEST(refuses_tables_beyond_the_file)
{
	int fd = make_elf(simple, 3, ELFCLASS64, ELFDATA2LSB, EM_X86_64);
	Elf64_Ehdr eh;
	Elf64_Shdr sh;
	off_t at;

	CHECK_EQ(pread(fd, &eh, sizeof(eh), 0), sizeof(eh));
	at = eh.e_shoff + 3 * sizeof(sh);
	CHECK_EQ(pread(fd, &sh, sizeof(sh), at), sizeof(sh));
	CHECK_EQ(sh.sh_type, SHT_SYMTAB);
	sh.sh_size = 8ull << 30;
	CHECK_EQ(pwrite(fd, &sh, sizeof(sh), at), sizeof(sh));
	errno = 0;
	CHECK(!elfsyms_load(fd, NULL));
	CHECK_EQ(errno, EINVAL);
	/* Holes in the file cost nothing to who claims them, but would cost the reader. */
	CHECK_EQ(ftruncate(fd, 16ll << 30), 0);
	CHECK(!elfsyms_load(fd, NULL));
	eh.e_shnum = 0; /* the count is in the first section header */
	CHECK_EQ(pwrite(fd, &eh, sizeof(eh), 0), sizeof(eh));
	errno = 0;
	CHECK(!elfsyms_load(fd, NULL));
	CHECK_EQ(errno, EINVAL);
	close(fd);
}

/* Of the third section: the table of symbols. */
static void read_table_headers(int fd, Elf64_Ehdr *eh, Elf64_Shdr *sh)
{
	CHECK_EQ(pread(fd, eh, sizeof(*eh), 0), sizeof(*eh));
	CHECK_EQ(pread(fd, sh, sizeof(*sh), (off_t)(eh->e_shoff + 3 * sizeof(*sh))), sizeof(*sh));
}

/* The dynamic linker's symbols are still there. */
TEST(a_broken_table_costs_its_own_names_only)
{
	int fd = make_elf(simple, 3, ELFCLASS64, ELFDATA2LSB, EM_X86_64);
	struct elfsyms *es;
	Elf64_Ehdr eh;
	Elf64_Shdr sh;
	size_t count;

	es = elfsyms_load(fd, NULL);
	count = es ? elfsyms_count(es) : 0;
	elfsyms_free(es);
	CHECK(count > 0);
	read_table_headers(fd, &eh, &sh);
	sh.sh_type = SHT_DYNSYM; /* in place of the last one, of data */
	CHECK_EQ(pwrite(fd, &sh, sizeof(sh), eh.e_shoff + 5 * sizeof(sh)), sizeof(sh));
	sh.sh_type = SHT_SYMTAB;
	sh.sh_size = 8ull << 30;
	CHECK_EQ(pwrite(fd, &sh, sizeof(sh), eh.e_shoff + 3 * sizeof(sh)), sizeof(sh));
	es = elfsyms_load(fd, NULL);
	CHECK(es && elfsyms_count(es) == count);
	elfsyms_free(es);
	close(fd);
}

TEST(names_that_share_their_bytes_take_them_once)
{
	enum { N = 4000, LONG = 60000 };
	struct def *defs = calloc(N, sizeof(*defs));
	char *name = calloc(1, LONG + 1);
	struct elfsyms *es;
	Elf64_Ehdr eh;
	Elf64_Shdr sh;
	int fd;

	memset(name, 'x', LONG);
	for (size_t i = 0; i < N; i++)
		defs[i] = (struct def){ i ? "" : name, TEXT_ADDR + i, 1, STB_GLOBAL, STT_FUNC, 0 };
	fd = make_elf(defs, N, ELFCLASS64, ELFDATA2LSB, EM_X86_64);
	read_table_headers(fd, &eh, &sh);
	for (uint32_t i = 1, one = 1; i <= N; i++)
		CHECK_EQ(pwrite(fd, &one, 4, sh.sh_offset + i * sizeof(Elf64_Sym)), 4);
	es = elfsyms_load(fd, NULL);
	CHECK_EQ(elfsyms_count(es), N);
	CHECK_STR(name_at(es, TEXT_ADDR + N - 1), name);
	CHECK(elfsyms_bytes(es) < 2 * LONG + N * 24);
	elfsyms_free(es);
	close(fd);
	free(name);
	free(defs);
}

/* What begins far enough in it may end it, and is a name. */
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
	char *name = calloc(1, LONG + 1);
	struct elfsyms *es;
	Elf64_Ehdr eh;
	Elf64_Shdr sh;
	int fd;

	memset(name, 'x', LONG);
	memcpy(name + LONG - (sizeof(tail) - 1), tail, sizeof(tail));
	defs[0].name = name;
	fd = make_elf(defs, 4, ELFCLASS64, ELFDATA2LSB, EM_X86_64);
	read_table_headers(fd, &eh, &sh);
	for (size_t i = 1; i < 3; i++)
		CHECK_EQ(pwrite(fd, &places[i], 4,
				(off_t)(sh.sh_offset + (i + 1) * sizeof(Elf64_Sym))),
			 4);
	es = elfsyms_load(fd, NULL);
	CHECK_EQ(elfsyms_count(es), 4);
	CHECK(!elfsyms_find(es, TEXT_ADDR, NULL));
	CHECK(!elfsyms_find(es, TEXT_ADDR + 1, NULL));
	CHECK_STR(elfsyms_find(es, TEXT_ADDR + 2, NULL), tail);
	CHECK_STR(elfsyms_find(es, TEXT_ADDR + 3, NULL), "other");
	CHECK(elfsyms_bytes(es) < LONG / 4);
	elfsyms_free(es);
	close(fd);
	free(name);
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
	int status = 0;

	if (!child) {
		silence_stderr();
		setrlimit(RLIMIT_DATA, &limit);
		_exit(!elfsyms_load(fd, NULL));
	}
	waitpid(child, &status, 0);
	return status == 0;
}

/* 4 MB of names are in memory once while they are read, and little else. */
TEST(names_are_never_in_memory_twice)
{
	enum { N = 4000, LONG = 1000 };
	struct def *defs = calloc(N, sizeof(*defs));
	char *names = malloc((LONG + 1) * N);
	int fd;

	for (size_t i = 0; i < N; i++) {
		char *name = names + i * (LONG + 1);

		snprintf(name, LONG + 1, "%0*zu", LONG, i);
		name[0] = 'f';
		defs[i] = (struct def){ name, TEXT_ADDR + i, 1, STB_GLOBAL, STT_FUNC, 0 };
	}
	fd = make_elf(defs, N, ELFCLASS64, ELFDATA2LSB, EM_X86_64);
	CHECK(loads_within(fd, 6 << 20));
	CHECK(!loads_within(fd, 3 << 20));
	close(fd);
	free(names);
	free(defs);
}

#endif

/* Each symbol would cost the reader the whole name, if it looked at it every time. */
TEST(bounds_the_time_spent_on_one_long_name)
{
	enum { N = 1000000, LONG = 10 << 20 };
	static char code[N];
	Elf64_Sym *syms = calloc(N, sizeof(*syms));
	char *names = calloc(1, LONG + 2);
	struct image_section sections[] = {
		{ ".text", SHT_PROGBITS, IMAGE_CODE, TEXT_ADDR, code, sizeof(code), 0 },
		{ ".symtab", SHT_SYMTAB, 0, 0, syms, N * sizeof(*syms), 3 },
		{ ".strtab", SHT_STRTAB, 0, 0, names, LONG + 2, 0 },
	};
	clock_t start = clock();
	struct elfsyms *es;
	uint8_t *image;
	size_t size;

	memset(names + 1, '_', LONG);
	for (size_t i = 1; i < N; i++)
		syms[i] = (Elf64_Sym){ .st_name = 1,
				       .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
				       .st_shndx = 1,
				       .st_value = TEXT_ADDR + i,
				       .st_size = 1 };
	image = image_make(sections, ARRAY_SIZE(sections), EM_X86_64, &size);
	es = elfsyms_load_image(image, size);
	CHECK_STR(name_at(es, TEXT_ADDR + 100), "");
	CHECK(clock() - start < CLOCKS_PER_SEC);
	elfsyms_free(es);
	free(image);
	free(names);
	free(syms);
}

/* This program, as a block of exactly its size. */
static unsigned char *read_self(size_t *size)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct stat st;
	unsigned char *bytes;

	fstat(fd, &st);
	*size = st.st_size;
	bytes = malloc(*size);
	if (read(fd, bytes, *size) != (ssize_t)*size)
		UNIT_FAIL("cannot read this program");
	close(fd);
	return bytes;
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

static void check_known(struct elfsyms *es)
{
	uint64_t start = 0, vaddr;

	CHECK(es);
	if (!es)
		return;
	vaddr = elfsyms_vaddr(es, known_offset() + 1);
	CHECK_STR(elfsyms_find(es, vaddr, &start), "known_function");
	CHECK_EQ(start, vaddr - 1);
	elfsyms_free(es);
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
	struct elfsyms *es;
	uint8_t *image;
	size_t size;

	for (size_t i = 1; i < ARRAY_SIZE(syms); i++) {
		syms[i].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
		syms[i].st_shndx = 1;
		syms[i].st_size = 1;
	}
	image = image_make(sections, ARRAY_SIZE(sections), EM_X86_64, &size);
	es = elfsyms_load_image(image, size);
	CHECK_STR(name_at(es, 0x1000), "third");
	CHECK_STR(name_at(es, 0x1002), "first");
	CHECK_STR(name_at(es, 0x1046), "");
	elfsyms_free(es);
	free(image);
}

TEST(finds_this_programs_functions)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	check_known(elfsyms_load(fd, NULL));
	close(fd);
}

TEST(reads_images_as_it_reads_files)
{
	size_t size;
	unsigned char *image = read_self(&size);
	struct elfsyms *es = elfsyms_load_image(image, size);

	free(image);
	check_known(es);
}

static void probe(struct elfsyms *es)
{
	if (!es)
		return;
	for (uint64_t offset = 0; offset < 1 << 18; offset += 509) {
		uint64_t vaddr = elfsyms_vaddr(es, offset);
		const char *name = elfsyms_find(es, vaddr, NULL);

		if (name && !*name)
			UNIT_FAIL("an empty name at %#llx", (unsigned long long)vaddr);
	}
	elfsyms_free(es);
}

TEST(survives_truncation)
{
	size_t size;
	unsigned char *image = read_self(&size);
	int fd = memfd_create("t", MFD_CLOEXEC);

	CHECK_EQ(write(fd, image, size), size);
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
	free(image);
}

/* Where a changed byte matters: the headers and, less often, the symbols. */
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
	int fd = memfd_create("m", MFD_CLOEXEC);
	uint32_t random = 1;

	CHECK_EQ(write(fd, image, size), size);
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
	free(image);
}

/* Their number, and that of their names, are in the first one (chapter 4 of the gABI). */
static void set_n_sections(int fd, uint64_t n)
{
	Elf64_Shdr sections[6];
	Elf64_Ehdr eh;

	CHECK_EQ(pread(fd, &eh, sizeof(eh), 0), sizeof(eh));
	CHECK_EQ(eh.e_shnum, ARRAY_SIZE(sections));
	CHECK_EQ(pread(fd, sections, sizeof(sections), (off_t)eh.e_shoff), sizeof(sections));
	sections[0].sh_size = n;
	sections[0].sh_link = eh.e_shstrndx;
	eh.e_shnum = 0;
	eh.e_shstrndx = SHN_XINDEX;
	eh.e_shoff = 1 << 20;
	CHECK_EQ(pwrite(fd, &eh, sizeof(eh), 0), sizeof(eh));
	CHECK_EQ(pwrite(fd, sections, sizeof(sections), (off_t)eh.e_shoff), sizeof(sections));
	CHECK_EQ(ftruncate(fd, (off_t)(eh.e_shoff + n * sizeof(*sections))), 0);
}

TEST(a_file_with_very_many_sections_has_names)
{
	int fd = make_elf(simple, 3, ELFCLASS64, ELFDATA2LSB, EM_X86_64);
	struct elfsyms *syms;
	struct elf64 elf;
	Elf64_Shdr found;

	set_n_sections(fd, 66000);
	CHECK_EQ(elf64_open(&elf, fd), 0);
	CHECK_EQ(elf64_find_section(&elf, ".symtab", &found), 0);
	syms = elfsyms_load(fd, NULL);
	CHECK_STR(syms ? elfsyms_find(syms, simple[0].addr, NULL) : NULL, simple[0].name);
	elfsyms_free(syms);
	close(fd);
}

/* What libelf would take memory for. */
TEST(a_file_with_millions_of_sections_is_refused)
{
	int fd = make_elf(simple, 3, ELFCLASS64, ELFDATA2LSB, EM_X86_64);

	set_n_sections(fd, 1 << 19);
	errno = 0;
	CHECK(!elfsyms_load(fd, NULL));
	CHECK_EQ(errno, EINVAL);
	close(fd);
}
