/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads the symbols of one table (System V gABI, chapter 4) piece by piece, so that the table is
 * never in memory as a whole.
 */
#ifndef ELFSYMTAB_H
#define ELFSYMTAB_H

#include "elf/elffile.h"

struct elfsymtab {
	const struct elffile *file; /* not owned; NULL: no table */
	uint64_t offset;
	size_t count, entry_bytes;
	void *piece; /* symbols first to first + read - 1, in this machine's byte order */
	size_t first, read;
};

/* Opens the table in a section. f must outlive t. False: the section can't be read. */
bool elfsymtab_open(struct elfsymtab *t, const struct elffile *f, Elf_Scn *scn);
void elfsymtab_close(struct elfsymtab *t);

/* Reads symbol number i. False: no such symbol, or unreadable. */
bool elfsymtab_get(struct elfsymtab *t, size_t i, GElf_Sym *sym);

#endif
