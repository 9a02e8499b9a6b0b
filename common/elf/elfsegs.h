/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Converts file offsets to ELF virtual addresses and back, by the executable segments of an ELF
 * file (System V gABI, chapter 5).
 */
#ifndef ELFSEGS_H
#define ELFSEGS_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>

#define ELFSEGS_MAX 16

struct elfsegs {
	struct {
		uint64_t offset, vaddr, bytes;
	} items[ELFSEGS_MAX];
	size_t count;
};

struct elf64;

/* Reads the executable segments. 0, or -ENOEXEC: no readable program headers. */
int elfsegs_read_elf(struct elfsegs *segs, const struct elf64 *elf);

/* Adds a segment if it is executable and the array has space. *segs must be all zero initially. */
void elfsegs_add(struct elfsegs *segs, const Elf64_Phdr *header);

/*
 * Returns the ELF address of a file offset; UINT64_MAX if no segment holds it. Mappings are whole
 * pages, so the rest of a segment's first and last page also belongs to that segment, unless
 * another one holds it.
 */
uint64_t elfsegs_vaddr(const struct elfsegs *segs, uint64_t offset);

/*
 * Returns the ELF address of a mapping's first byte. If two segments share a page, the mapping
 * belongs to the segment with the same end. A mapping that has since been cut is found by offset
 * alone.
 */
uint64_t elfsegs_mapping_vaddr(const struct elfsegs *segs, uint64_t offset, uint64_t bytes);

/*
 * Returns the file offset of code mapped `bytes` bytes above a file offset, both at page starts;
 * UINT64_MAX: no code there.
 */
uint64_t elfsegs_offset_above(const struct elfsegs *segs, const struct elf64 *elf, uint64_t offset,
			      uint64_t bytes);

/* Returns the file offset of an ELF address; UINT64_MAX if no segment holds it. */
uint64_t elfsegs_offset(const struct elfsegs *segs, uint64_t vaddr);

#endif
