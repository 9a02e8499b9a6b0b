/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The records of a file's .eh_frame (LSB 5, chapter 10.6; DWARF 5, 6.4.1): which code is described
 * (FDEs), by which programs, under which common header (CIEs). Executing the programs is
 * cfa_program.h's business.
 *
 * Linear in the section's size, with any contents; at most 128 MiB, 4 M FDEs, 256 K CIEs.
 */
#ifndef EH_FRAME_H
#define EH_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/dwarf_read.h"
#include "elf/elf64.h"
#include "unwind/cfa_rule.h"

struct eh_program {
	const uint8_t *bytes;
	size_t size;
};

struct eh_cie {
	const uint8_t *at; /* where its record starts; ascending */
	bool is_readable;  /* false: nothing below is valid */
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
	uint32_t cie; /* index; a readable one */
};

struct eh_frame {
	const struct cfa_machine *machine; /* whose code is described */
	uint8_t *bytes;			   /* what everything points into */
	size_t size;
	uint64_t vaddr;		 /* of the first byte */
	bool ends_at_terminator; /* the size is only an upper bound */
	struct eh_cie *cies;
	size_t n_cies;
	struct eh_fde *fdes; /* in the order of the file; empty ones left out */
	size_t n_fdes;
	size_t n_bad; /* records left out because they are broken or of an unknown form */
};

/*
 * Reads through the section headers, or where these are absent through PT_GNU_EH_FRAME. 0, or
 * -errno: -ENODATA if there is no .eh_frame, -EINVAL if it is not in the file as it should
 * be, -EFBIG, -ENOTSUP for other machines. What is broken inside is left out and counted.
 * eh_frame_free() in any case.
 */
int eh_frame_read(struct eh_frame *eh, const struct elf64 *elf);
void eh_frame_free(struct eh_frame *eh);

/* Reads an address in one of its records, in the encoding given by the CIE. */
uint64_t eh_frame_address(const struct eh_frame *eh, struct cursor *c, uint8_t encoding);

#endif
