/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Fills gaps in unwind tables: code that every program contains, and for which the authors of the
 * compiler and the C library provide no unwind information: the dynamic linker's entry point;
 * _init, _fini and the functions that they call first, where the pages of a library are first
 * touched; the instructions around clone's system call; the start of threads in musl. The code is
 * recognized by its instructions: from an unknown one on it stays a gap.
 */
#ifndef CFI_GAPS_H
#define CFI_GAPS_H

#include "elf/elf64.h"
#include "unwind/cfi_table.h"

/* Fills the known gaps in the table of an ELF file. */
void cfi_fill_known_gaps(struct cfi_table *t, const struct elf64 *elf);

#endif
