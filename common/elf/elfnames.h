/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Every name that an ELF file gives to a function, or to a variable (.dynsym and .symtab; System V
 * gABI, chapter 4).
 * elfsyms.h leads from an address to one function name; this unit leads from names to addresses,
 * where aliases count.
 */
#ifndef ELFNAMES_H
#define ELFNAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/elf64.h"

struct elfname {
	const char *name; /* may include a version, as .symtab does: "malloc@@GLIBC_2.2.5" */
	uint64_t vaddr, bytes;
	bool is_local;
	bool is_indirect; /* vaddr is the resolver of an IFUNC */
};

/* Returns the length of a name without its version, of at most max bytes that are looked at. */
size_t elfname_length(const char *name, size_t max);

typedef void elfname_visit_fn(const struct elfname *name, void *arg);

/*
 * Calls visit for each function that the file defines, in no order; twice if both tables have it.
 * name is valid during the call. 0; -ENOENT: neither table is there; -EINVAL: a broken file.
 */
int elfnames_visit(const struct elf64 *elf, elfname_visit_fn *visit, void *arg);

/* The same for variables, without thread-local ones (STT_TLS). */
int elfnames_visit_objects(const struct elf64 *elf, elfname_visit_fn *visit, void *arg);

#endif
