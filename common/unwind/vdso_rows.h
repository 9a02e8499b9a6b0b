/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Unwind rows of arm64's vdso, whose image has no .eh_frame on most kernels (5.10 has one; 6.1 and
 * newer don't), although programs that look at the clock all the time are often in there.
 */
#ifndef VDSO_ROWS_H
#define VDSO_ROWS_H

#include "elf/elf64.h"
#include "unwind/cfi.h"

/*
 * Makes rows from the instructions of an image of arm64 that has no others. Where they can't tell
 * how the stack is, there is a gap; the signal trampoline is one (see unwind_by_stub()).
 */
void vdso_rows_fill(struct cfi_table *t, const struct elf64 *elf);

#endif
