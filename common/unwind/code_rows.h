/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Unwind rows of arm64 code that has none, from its instructions: of the vdso, whose image has no
 * .eh_frame on most kernels (5.10 has one; 6.1 and newer don't), although programs that read the
 * clock often spend time there; and of functions written in assembly, as cryptographic libraries
 * have them, and the compiler's start files.
 */
#ifndef CODE_ROWS_H
#define CODE_ROWS_H

#include "elf/elf64.h"
#include "unwind/cfi_table.h"

/*
 * Makes rows of an image that has no others. If instructions don't show the state of the stack,
 * there is a gap; the signal trampoline is one (see unwind_by_stub()).
 */
void code_rows_fill_image(struct cfi_table *t, const struct elf64 *elf);

/* The same for gaps between the rows of a table compiled from the file. */
void code_rows_fill_gaps(struct cfi_table *t, const struct elf64 *elf);

#endif
