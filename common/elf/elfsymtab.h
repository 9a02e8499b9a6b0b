/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The symbols of one table (System V gABI, chapter 4), read piece by piece, so that the table is
 * never in memory as a whole.
 */
#ifndef ELFSYMTAB_H
#define ELFSYMTAB_H

#include "elf/elffile.h"

struct elfsymtab {
	const struct elffile *file; /* not owned; NULL: there is no table */
	uint64_t offset;
	size_t count, entry_bytes;
	void *piece; /* the `read` symbols from number `first` on, in this machine's byte order */
	size_t first, read;
};

/* False if the section can't be read. The file has to outlive the table. */
bool elfsymtab_open(struct elfsymtab *t, const struct elffile *f, Elf_Scn *scn);
void elfsymtab_close(struct elfsymtab *t);

/* Symbol number i. False: there is none, or it can't be read. */
bool elfsymtab_get(struct elfsymtab *t, size_t i, GElf_Sym *sym);

#endif
