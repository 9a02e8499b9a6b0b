/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Derives unwind rows of arm64 code without unwind information from its instructions: of the vdso,
 * whose image has no .eh_frame on most kernels (5.10 has it; 6.1 and newer don't), although
 * programs that read the clock often spend time there; of functions written in assembly, as in
 * cryptographic libraries; of the compiler's start files; and of stubs that virtual machines make.
 */
#ifndef CODE_ROWS_H
#define CODE_ROWS_H

#include "elf/elf64.h"
#include "unwind/cfi_table.h"

/*
 * Fills the empty table of an image. Code whose stack state can't be derived from the instructions
 * stays a gap, and so does the signal trampoline (see unwind_by_stub()).
 */
void code_rows_fill_image(struct cfi_table *t, const struct elf64 *elf);

/* Fills gaps between the rows of a table compiled from the file. */
void code_rows_fill_gaps(struct cfi_table *t, const struct elf64 *elf);

/* Fills the empty table with rows of stubs of a virtual machine, at offsets from the first byte. */
void code_rows_fill_code(struct cfi_table *t, const uint8_t *code, size_t bytes);

#endif
