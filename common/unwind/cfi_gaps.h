/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Fills gaps in unwind tables. Some code that every program contains is recognized by its
 * instructions: the dynamic linker's entry point, the instructions around clone's system call, the
 * end of contexts of makecontext(3), the start of threads in musl. For _init, _fini, functions in
 * assembly, C in Go programs, and libraries built without unwind information, rules are derived
 * from the instructions (x86_rows.h, code_rows.h). Other code stays a gap.
 */
#ifndef CFI_GAPS_H
#define CFI_GAPS_H

#include "elf/elf64.h"
#include "unwind/cfi_table.h"

/* Fills the known gaps in the table of an ELF file. */
void cfi_fill_known_gaps(struct cfi_table *t, const struct elf64 *elf);

#endif
