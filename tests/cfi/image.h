/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The smallest ELF files that have an .eh_frame, tables of them and of other files, and what must
 * be true of every table made of one.
 */
#ifndef CFI_IMAGE_H
#define CFI_IMAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "../elf_header.h"
#include "base/mem.h"
#include "elf/elf64.h"
#include "unwind/cfi.h"

#define IMAGE_EH_FRAME_VADDR 0x2000

static const char image_names[] = "\0.eh_frame\0.shstrtab";

/* Headers, then the bytes of .eh_frame. Found by section, and by segment too if hdr is true. */
struct image {
	Elf64_Ehdr header;
	Elf64_Phdr segments[2];
	Elf64_Shdr sections[3];
	char names[sizeof(image_names)];
	uint8_t hdr[8];
	uint8_t eh_frame[];
};

static inline void image_add_segments(struct image *m, size_t bytes)
{
	uint32_t eh_frame = IMAGE_EH_FRAME_VADDR;

	m->header.e_phoff = offsetof(struct image, segments);
	m->header.e_phnum = 2;
	m->segments[0] = (Elf64_Phdr){ .p_type = PT_LOAD,
				       .p_offset = offsetof(struct image, eh_frame),
				       .p_vaddr = IMAGE_EH_FRAME_VADDR,
				       .p_filesz = bytes };
	m->segments[1] = (Elf64_Phdr){ .p_type = PT_GNU_EH_FRAME,
				       .p_offset = offsetof(struct image, hdr),
				       .p_vaddr = 0x1f00,
				       .p_filesz = sizeof(m->hdr) };
	memcpy(m->hdr, (uint8_t[]){ 1, 0x03 /* udata4 */, 0xff, 0xff }, 4);
	memcpy(m->hdr + 4, &eh_frame, sizeof(eh_frame));
}

static inline void image_add_sections(struct image *m, size_t bytes)
{
	m->header.e_shoff = offsetof(struct image, sections);
	m->header.e_shnum = 3;
	m->header.e_shstrndx = 2;
	m->sections[1] = (Elf64_Shdr){ .sh_name = 1,
				       .sh_type = SHT_PROGBITS,
				       .sh_addr = IMAGE_EH_FRAME_VADDR,
				       .sh_offset = offsetof(struct image, eh_frame),
				       .sh_size = bytes };
	m->sections[2] = (Elf64_Shdr){ .sh_name = 11,
				       .sh_type = SHT_STRTAB,
				       .sh_offset = offsetof(struct image, names),
				       .sh_size = sizeof(image_names) };
	memcpy(m->names, image_names, sizeof(image_names));
}

/* Freed with free(); *size is the whole image's. */
static inline struct image *image_new(const uint8_t *eh_frame, size_t bytes, size_t *size)
{
	struct image *m;

	*size = offsetof(struct image, eh_frame) + bytes;
	m = mem_zalloc(*size, 1);
	m->header = elf_header(ET_DYN, EM_X86_64);
	image_add_segments(m, bytes);
	image_add_sections(m, bytes);
	if (bytes)
		memcpy(m->eh_frame, eh_frame, bytes);
	return m;
}

static inline int image_load(struct cfi_table *t, const void *image, size_t size)
{
	struct elf64 elf;
	int err = elf64_open_image(&elf, image, size);

	*t = (struct cfi_table){ .cells = NULL };
	return err ? err : cfi_load(t, &elf);
}

static inline int image_load_file(struct cfi_table *t, int fd)
{
	struct elf64 elf;
	int err = elf64_open(&elf, fd);

	*t = (struct cfi_table){ .cells = NULL };
	return err ? err : cfi_load(t, &elf);
}

static inline bool image_rule_is_sane(struct unwind_rule r)
{
	bool has_cfa = r.kind >= UNWIND_SP && r.kind <= UNWIND_REG;
	bool has_bp_off = r.bp_kind == UNWIND_BP_AT_CFA || r.bp_kind == UNWIND_BP_AT_BP;

	if (r.kind >= UNWIND_KINDS || r.bp_kind >= UNWIND_BP_KINDS)
		return false;
	if (!has_cfa && (r.bp_kind || r.extra_place || (r.cfa_off && r.kind != UNWIND_RA_REG)))
		return false;
	if (r.kind == UNWIND_PLT && (r.cfa_off < 0 || r.cfa_off > 15))
		return false;
	if ((r.kind == UNWIND_REG || r.kind == UNWIND_RA_REG) && unwind_reg(r.cfa_off) > 15)
		return false;
	return has_bp_off || !r.bp_off;
}

static inline bool image_table_is_sane(const struct cfi_table *t)
{
	struct cfi_row row = { .rule.kind = UNWIND_GAP }, before;

	for (size_t i = 0; i < t->count; i++) {
		before = row;
		row = cfi_row(t, i);
		if (!image_rule_is_sane(row.rule))
			return false;
		if (!memcmp(&row.rule, &before.rule, sizeof(row.rule)) ||
		    (i && row.vaddr <= before.vaddr))
			return false;
	}
	return row.rule.kind == UNWIND_GAP;
}

#endif
