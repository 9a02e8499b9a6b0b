/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The records of a file's .eh_frame (LSB 5, chapter 10.6; DWARF 5, 6.4.1): code ranges (FDEs) with
 * their programs, and common headers of FDEs (CIEs). cfi.c executes the programs.
 *
 * Time and memory are linear in the section's size, with any contents; at most 128 MiB, 4 M FDEs,
 * 256 K CIEs.
 */
#ifndef EH_FRAME_H
#define EH_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addrsort.h"
#include "elf/dwarf_read.h"
#include "elf/elf64.h"
#include "unwind/cfa_rule.h"

struct eh_program {
	const uint8_t *bytes;
	size_t size;
};

struct eh_cie {
	const uint8_t *at; /* start of the record; ascending */
	bool is_readable;  /* false: the following members are invalid */
	bool is_signal_frame;
	bool has_augmentation_data;
	uint8_t pointer_encoding;
	uint64_t code_align;
	int64_t data_align;
	struct eh_program program;
};

struct eh_fde {
	uint64_t start, end; /* ELF virtual addresses; start < end */
	const uint8_t *program;
	uint32_t program_bytes;
	uint32_t cie; /* index of the CIE, which is readable */
};

struct eh_frame {
	const struct cfa_machine *machine; /* architecture of the code */
	uint8_t *bytes;			   /* contents of .eh_frame; all pointers point into them */
	size_t size;
	uint64_t vaddr;		 /* address of bytes[0] */
	bool ends_at_terminator; /* size is only an upper bound */
	struct eh_cie *cies;
	size_t n_cies;
	struct addr_item *fdes; /* non-empty FDEs, see eh_frame_fde(); ascending by start */
	size_t n_fdes;
	size_t n_bad; /* omitted records: broken, or of an unknown form */
};

/*
 * Reads .eh_frame, found by the section headers or, if these are absent, by PT_GNU_EH_FRAME.
 * Returns 0 or -errno: -ENODATA without .eh_frame, -EINVAL if it can't be located in the file,
 * -EFBIG, -ENOTSUP for other machines. Broken records are omitted and counted. eh_frame_free() is
 * required in any case.
 */
int eh_frame_read(struct eh_frame *eh, const struct elf64 *elf);
void eh_frame_free(struct eh_frame *eh);

/* Reads FDE i at each call: structures of all FDEs would take more memory than the section. */
struct eh_fde eh_frame_fde(struct eh_frame *eh, size_t i);

/* Reads an address in a record, in the encoding given by the CIE. */
uint64_t eh_frame_address(const struct eh_frame *eh, struct cursor *c, uint8_t encoding);

#endif
