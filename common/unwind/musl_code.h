/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finds the outermost frames of threads in musl, whose code comes without unwind information: the
 * code after the system call of __clone, and the callers of main() and of thread functions. Stacks
 * end there. The code is recognized by its instructions.
 */
#ifndef MUSL_CODE_H
#define MUSL_CODE_H

#include "elf/elf64.h"
#include "unwind/cfi_table.h"

/* Adds rows for this code to the table of elf: musl itself, or a program linked with it. */
void musl_fill_gaps(struct cfi_table *t, const struct elf64 *elf);

#endif
