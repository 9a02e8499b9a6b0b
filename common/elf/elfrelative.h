/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Words of position-independent programs that the dynamic linker writes at the start: addresses in
 * the program itself (R_X86_64_RELATIVE, R_AARCH64_RELATIVE; System V gABI, chapter 5, DT_RELA). In
 * the file they are zero, so readers of a table of pointers apply them to their copy. Words of
 * DT_RELR need nothing: their addends are in place.
 */
#ifndef ELFRELATIVE_H
#define ELFRELATIVE_H

#include "elf/elf64.h"

struct elfrelative {
	Elf64_Rela *relas; /* of all types */
	size_t n;
	uint32_t type; /* the one to apply */
};

/* Reads the relocations; n is 0 if they can't be read. Freed with elfrelative_free(). */
void elfrelative_read(struct elfrelative *r, const struct elf64 *elf);
void elfrelative_free(struct elfrelative *r);

/* Writes into a copy of the file's bytes that belong at vaddr. */
void elfrelative_apply(const struct elfrelative *r, void *bytes, uint64_t vaddr, size_t size);

#endif
