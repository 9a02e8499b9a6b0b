/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The stubs of the procedure linkage table, which no symbol table names: each jumps through a word
 * whose relocation names the function (the psABIs of x86-64 and AArch64). The stubs' instructions
 * are decoded, so the linker and the order of its stubs don't matter.
 */
#ifndef ELFPLT_H
#define ELFPLT_H

#include <stddef.h>
#include <stdint.h>

#include "elf/elffile.h"

struct plt_stub {
	uint64_t vaddr;
	uint32_t bytes;
	uint64_t resolver; /* if there is no name: the resolver that finds the target */
	const char *name;  /* name of the target, in the given strings */
};

/*
 * Returns the stubs that have a target, freed with free(); NULL with *n 0: none, or another
 * machine. names: the strings of .dynsym, size up to the last zero byte; NULL: none.
 */
struct plt_stub *elfplt_read(const struct elffile *f, const char *names, size_t size, size_t *n);

#endif
