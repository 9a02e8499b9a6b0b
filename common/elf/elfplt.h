/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Names the stubs of the procedure linkage table (PLT), which have no symbols: each jumps through a
 * word whose relocation names the function (the psABIs of x86-64 and AArch64). The stubs'
 * instructions are decoded, so the linker and the order of its stubs don't matter.
 */
#ifndef ELFPLT_H
#define ELFPLT_H

#include <stddef.h>
#include <stdint.h>

#include "elf/elffile.h"

struct plt_stub {
	uint64_t vaddr;
	uint32_t bytes;
	uint64_t resolver; /* IFUNC resolver of the target, if name is 0 */
	uint32_t name;	   /* offset of the target's name in .dynstr; or 0 */
};

/*
 * Returns the *n stubs with a known target, freed with free(); NULL with *n 0: no such stubs, or an
 * unsupported machine. names_bytes: size of .dynstr; 0: none.
 */
struct plt_stub *elfplt_read(const struct elffile *f, size_t names_bytes, size_t *n);

#endif
