// SPDX-License-Identifier: GPL-2.0-only
/* Executable segments of an ELF file; see elfsegs.h. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"
#include "elf/elf64.h"
#include "elf/elfsegs.h"

void elfsegs_add(struct elfsegs *segs, const Elf64_Phdr *header)
{
	if (header->p_type != PT_LOAD || !(header->p_flags & PF_X) || !header->p_filesz ||
	    header->p_offset + header->p_filesz < header->p_offset || segs->count == ELFSEGS_MAX)
		return;
	segs->items[segs->count].offset = header->p_offset;
	segs->items[segs->count].vaddr = header->p_vaddr;
	segs->items[segs->count].bytes = header->p_filesz;
	segs->count++;
}

int elfsegs_read_elf(struct elfsegs *segs, const struct elf64 *elf)
{
	Elf64_Phdr *headers = elf64_read_segments(elf);

	segs->count = 0;
	if (!headers)
		return -ENOEXEC;
	for (size_t i = 0; i < elf->header.e_phnum; i++)
		elfsegs_add(segs, &headers[i]);
	free(headers);
	return 0;
}

static uint64_t page_mask(void)
{
	return (uint64_t)sysconf(_SC_PAGESIZE) - 1;
}

static uint64_t last_offset(const struct elfsegs *segs, size_t i, uint64_t slack_mask)
{
	return (segs->items[i].offset + segs->items[i].bytes - 1) | slack_mask;
}

static bool holds(const struct elfsegs *segs, size_t i, uint64_t offset, uint64_t slack_mask)
{
	return offset >= (segs->items[i].offset & ~slack_mask) &&
	       offset <= last_offset(segs, i, slack_mask);
}

static uint64_t vaddr_in(const struct elfsegs *segs, size_t i, uint64_t offset)
{
	return segs->items[i].vaddr + (offset - segs->items[i].offset);
}

uint64_t elfsegs_vaddr(const struct elfsegs *segs, uint64_t offset)
{
	uint64_t masks[] = { 0, page_mask() };

	for (size_t m = 0; m < ARRAY_SIZE(masks); m++)
		for (size_t i = 0; i < segs->count; i++)
			if (holds(segs, i, offset, masks[m]))
				return vaddr_in(segs, i, offset);
	return UINT64_MAX;
}

uint64_t elfsegs_mapping_vaddr(const struct elfsegs *segs, uint64_t offset, uint64_t bytes)
{
	uint64_t mask = page_mask();

	for (size_t i = 0; i < segs->count; i++)
		if (holds(segs, i, offset, mask) &&
		    last_offset(segs, i, mask) == offset + bytes - 1)
			return vaddr_in(segs, i, offset);
	return elfsegs_vaddr(segs, offset);
}

/*
 * Returns the address of an offset in any segment. If the page of the offset is in two segments,
 * uses the later one, which begins in this page.
 */
static uint64_t find_vaddr(const Elf64_Phdr *headers, size_t n, uint64_t offset)
{
	uint64_t mask = page_mask(), vaddr = UINT64_MAX;

	for (size_t i = 0; i < n; i++) {
		const Elf64_Phdr *h = &headers[i];

		if (h->p_type == PT_LOAD && h->p_filesz && offset >= (h->p_offset & ~mask) &&
		    offset < h->p_offset + h->p_filesz)
			vaddr = h->p_vaddr - h->p_offset + offset;
	}
	return vaddr;
}

uint64_t elfsegs_offset_above(const struct elfsegs *segs, const struct elf64 *elf, uint64_t offset,
			      uint64_t bytes)
{
	Elf64_Phdr *headers = elf64_read_segments(elf);
	uint64_t vaddr = headers ? find_vaddr(headers, elf->header.e_phnum, offset) : UINT64_MAX;
	uint64_t mask = page_mask();

	free(headers);
	if (vaddr == UINT64_MAX)
		return vaddr;
	vaddr += bytes;
	for (size_t i = 0; i < segs->count; i++)
		if (vaddr >= (segs->items[i].vaddr & ~mask) &&
		    vaddr < segs->items[i].vaddr + segs->items[i].bytes)
			return segs->items[i].offset + (vaddr - segs->items[i].vaddr);
	return UINT64_MAX;
}

uint64_t elfsegs_offset(const struct elfsegs *segs, uint64_t vaddr)
{
	for (size_t i = 0; i < segs->count; i++)
		if (vaddr - segs->items[i].vaddr < segs->items[i].bytes)
			return segs->items[i].offset + (vaddr - segs->items[i].vaddr);
	return UINT64_MAX;
}
