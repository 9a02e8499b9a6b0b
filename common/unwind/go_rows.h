/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Unwind rows of Go code, from the frame sizes in the Go runtime's function table
 * (elf/gopclntab.h): Go writes no .eh_frame. See go_code.h for the runtime's stacks, the
 * scheduler's and the goroutines'.
 */
#ifndef GO_ROWS_H
#define GO_ROWS_H

#include "elf/elf64.h"
#include "unwind/cfi_table.h"

/* Adds the rows of the file's Go functions, if any, to its table, which may be empty. */
void go_rows_fill(struct cfi_table *t, const struct elf64 *elf);

#endif
