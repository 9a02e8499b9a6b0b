// SPDX-License-Identifier: GPL-2.0-only
/* Visits the symbol tables of a file; see elfnames.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "elf/elfnames.h"

#define TABLE_MAX_BYTES (256u << 20)

struct table {
	Elf64_Sym *syms;
	char *strings;
	size_t n_syms, strings_bytes;
};

size_t elfname_length(const char *name, size_t max)
{
	size_t n = strnlen(name, max);
	const char *at = memchr(name, '@', n);

	return at ? (size_t)(at - name) : n;
}

static int read_section(const struct elf64 *elf, const char *name, void **data, size_t *bytes)
{
	Elf64_Shdr header;
	int err = elf64_find_section(elf, name, &header);

	if (err)
		return err;
	if (header.sh_type == SHT_NOBITS) /* the table has no contents in debug files */
		return -ENOENT;
	*bytes = header.sh_size;
	*data = elf64_read(elf, header.sh_offset, header.sh_size, TABLE_MAX_BYTES);
	return *data ? 0 : -errno;
}

/* Drops an unterminated string at the end of the strings. */
static void end_strings(struct table *t)
{
	while (t->strings_bytes && t->strings[t->strings_bytes - 1])
		t->strings_bytes--;
}

static int read_table(struct table *t, const struct elf64 *elf, const char *syms,
		      const char *strings)
{
	size_t bytes = 0;
	int err = read_section(elf, syms, (void **)&t->syms, &bytes);

	if (!err)
		err = read_section(elf, strings, (void **)&t->strings, &t->strings_bytes);
	t->n_syms = bytes / sizeof(*t->syms);
	if (!err)
		end_strings(t);
	return err;
}

static bool is_defined(const struct table *t, const Elf64_Sym *sym)
{
	return sym->st_shndx != SHN_UNDEF && sym->st_shndx != SHN_ABS &&
	       sym->st_name < t->strings_bytes;
}

static bool is_function(const Elf64_Sym *sym)
{
	unsigned int type = ELF64_ST_TYPE(sym->st_info);

	return type == STT_FUNC || type == STT_GNU_IFUNC;
}

static bool is_object(const Elf64_Sym *sym)
{
	return ELF64_ST_TYPE(sym->st_info) == STT_OBJECT;
}

static void visit_table(const struct table *t, bool (*is_wanted)(const Elf64_Sym *),
			elfname_visit_fn *visit, void *arg)
{
	for (size_t i = 0; i < t->n_syms; i++) {
		const Elf64_Sym *sym = &t->syms[i];
		struct elfname name = {
			.vaddr = sym->st_value,
			.bytes = sym->st_size,
			.is_local = ELF64_ST_BIND(sym->st_info) == STB_LOCAL,
			.is_indirect = ELF64_ST_TYPE(sym->st_info) == STT_GNU_IFUNC,
		};

		if (!is_defined(t, sym) || !is_wanted(sym))
			continue;
		name.name = t->strings + sym->st_name;
		visit(&name, arg);
	}
}

static int visit_tables(const struct elf64 *elf, bool (*is_wanted)(const Elf64_Sym *),
			elfname_visit_fn *visit, void *arg)
{
	static const char *const sections[][2] = { { ".dynsym", ".dynstr" },
						   { ".symtab", ".strtab" } };
	int result = -ENOENT;

	for (size_t i = 0; i < 2; i++) {
		struct table t = { 0 };
		int err = read_table(&t, elf, sections[i][0], sections[i][1]);

		if (!err)
			visit_table(&t, is_wanted, visit, arg);
		if (err != -ENOENT)
			result = err;
		free(t.syms);
		free(t.strings);
	}
	return result;
}

int elfnames_visit(const struct elf64 *elf, elfname_visit_fn *visit, void *arg)
{
	return visit_tables(elf, is_function, visit, arg);
}

int elfnames_visit_objects(const struct elf64 *elf, elfname_visit_fn *visit, void *arg)
{
	return visit_tables(elf, is_object, visit, arg);
}
