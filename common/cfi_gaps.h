/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Code that every program has and that comes without unwind information, since the C library's
 * authors leave it out: the dynamic linker's entry point; _init and _fini, which are put together
 * from pieces of many files; the moments around clone's system call. It is told by its
 * instructions, of which any that is not expected there makes it stay a gap.
 */
#ifndef CFI_GAPS_H
#define CFI_GAPS_H

#include "cfi.h"

/* fd: the file that the table was compiled from. */
void cfi_fill_known_gaps(struct cfi_table *t, int fd);

#endif
