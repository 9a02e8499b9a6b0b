/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Applies relative relocations (R_X86_64_RELATIVE, R_AARCH64_RELATIVE; System V gABI, chapter 5,
 * DT_RELA): addresses in a position-independent program that the dynamic linker writes at the
 * start. They are zero in the file, so readers of a table of pointers apply them to their copy.
 * DT_RELR relocations need nothing: their addends are in place.
 */
#ifndef ELFRELATIVE_H
#define ELFRELATIVE_H

#include "elf/elf64.h"

struct elfrelative {
	Elf64_Rela *relas; /* relocations of all types */
	size_t n;
	uint32_t type; /* relocation type to apply */
};

/* Reads the relocations; n is 0 if they are unreadable. Freed with elfrelative_free(). */
void elfrelative_read(struct elfrelative *r, const struct elf64 *elf);
void elfrelative_free(struct elfrelative *r);

/* Applies the relocations to bytes, a copy of the file's contents at vaddr. */
void elfrelative_apply(const struct elfrelative *r, void *bytes, uint64_t vaddr, size_t size);

#endif
