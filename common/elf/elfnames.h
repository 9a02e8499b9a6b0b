/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Visits every name of a function or variable of an ELF file, with aliases (.dynsym and .symtab;
 * System V gABI, chapter 4). For the opposite, one function name for an address, see elfsyms.h.
 */
#ifndef ELFNAMES_H
#define ELFNAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/elf64.h"

struct elfname {
	const char *name; /* may have a version, as in .symtab: "malloc@@GLIBC_2.2.5" */
	uint64_t vaddr, bytes;
	bool is_local;
	bool is_indirect; /* vaddr is an IFUNC's resolver */
};

/* Returns the length of a name without its version. Reads at most max bytes. */
size_t elfname_length(const char *name, size_t max);

typedef void elfname_visit_fn(const struct elfname *name, void *arg);

/*
 * Calls visit for each function that the file defines, in no order; twice if both tables have it.
 * name is valid during the call. 0; -ENOENT: no tables; -EINVAL: broken file.
 */
int elfnames_visit(const struct elf64 *elf, elfname_visit_fn *visit, void *arg);

/* Like elfnames_visit(), for variables except thread-local ones (STT_TLS). */
int elfnames_visit_objects(const struct elf64 *elf, elfname_visit_fn *visit, void *arg);

#endif
