/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where threads begin in musl, whose code comes without unwind information: behind the system call
 * of __clone, and where main() and the functions of threads are called. From there on a stack has
 * nothing more to tell, though there would be no way either. It is told by its instructions.
 */
#ifndef MUSL_CODE_H
#define MUSL_CODE_H

#include "elf/elf64.h"
#include "unwind/cfi_table.h"

/* elf: the file that the table was compiled from: musl itself, or a program linked with it. */
void musl_fill_gaps(struct cfi_table *t, const struct elf64 *elf);

#endif
