/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Unwind tables of one ELF file, compiled from its .eh_frame (psABI AMD64 1.0, 3.7 and 4.2.4; LSB
 * 5, 10.6; DWARF 5, 6.4): for each address, how to find the caller. Files are controlled by the
 * traced side and read as root: time and memory are linear in the section's size and bounded (128
 * MiB of .eh_frame, 16 M rows), and broken unwind information affects only its own rows.
 */
#ifndef CFI_H
#define CFI_H

#include <stddef.h>

#include "unwind/cfi_table.h"

struct elf64;

/*
 * Compiles the table of an ELF file. Returns 0, or -errno and an empty table: -ENODATA without
 * .eh_frame, -EINVAL for an .eh_frame that is not in the file, -EFBIG beyond the bounds above.
 * cfi_free() is required in any case.
 *
 * After an FDE that is not directly followed by another one comes an UNWIND_GAP row; the last row
 * is a gap. If FDEs overlap, each ends at the latest where the next one starts; of several with the
 * same start, the first in the file counts: what a search of .eh_frame_hdr would find.
 */
int cfi_load(struct cfi_table *t, const struct elf64 *elf);

#endif
