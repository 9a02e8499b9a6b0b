/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Code that every program has and that comes without unwind information, since the authors of the
 * compiler and the C library leave it out: the dynamic linker's entry point; _init, _fini and the
 * functions that they call first, which is where the pages of a library are touched for the first
 * time; the moments around clone's system call; where threads begin in musl. It is recognized by
 * its instructions: from an unknown one on it stays a gap.
 */
#ifndef CFI_GAPS_H
#define CFI_GAPS_H

#include "elf/elf64.h"
#include "unwind/cfi_table.h"

/* elf: the file that the table was compiled from. */
void cfi_fill_known_gaps(struct cfi_table *t, const struct elf64 *elf);

#endif
