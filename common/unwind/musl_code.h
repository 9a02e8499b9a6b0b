/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finds the beginnings of threads in musl, whose code comes without unwind information: after the
 * system call of __clone, and the callers of main() and of thread functions. The stack ends there.
 * The code is recognized by its instructions.
 */
#ifndef MUSL_CODE_H
#define MUSL_CODE_H

#include "elf/elf64.h"
#include "unwind/cfi_table.h"

/* elf: the file that the table was compiled from: musl itself, or a program linked with it. */
void musl_fill_gaps(struct cfi_table *t, const struct elf64 *elf);

#endif
