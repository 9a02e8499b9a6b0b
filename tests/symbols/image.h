/* SPDX-License-Identifier: GPL-2.0-only */
/* Small ELF files made of given sections, for unit tests and fuzzers of what reads symbols. */
#ifndef SYMBOLS_IMAGE_H
#define SYMBOLS_IMAGE_H

#include <stddef.h>
#include <stdint.h>

#include "../elf_header.h"
#include "base/mem.h"

#define IMAGE_CODE (SHF_ALLOC | SHF_EXECINSTR)

struct image_section {
	const char *name;
	uint32_t type;
	uint64_t flags, addr;
	const void *bytes; /* NULL: none in the file (SHT_NOBITS) */
	size_t size;
	uint32_t link;
};

static inline size_t image_align(size_t n)
{
	return (n + 7) & ~(size_t)7;
}

static inline size_t image_entry_bytes(uint32_t type)
{
	if (type == SHT_SYMTAB || type == SHT_DYNSYM)
		return sizeof(Elf64_Sym);
	return type == SHT_RELA ? sizeof(Elf64_Rela) : 0;
}

static inline const char *image_name(const char *name)
{
	return name ? name : "";
}

/* Returns the bytes that it takes. */
static inline size_t image_put_name(char *to, const char *name)
{
	size_t bytes = strlen(image_name(name)) + 1;

	memcpy(to, image_name(name), bytes);
	return bytes;
}

static inline size_t image_size(const struct image_section *s, size_t n)
{
	size_t size = sizeof(Elf64_Ehdr) + (n + 2) * sizeof(Elf64_Shdr) + n * sizeof(Elf64_Phdr) +
		      sizeof(".shstrtab") + 1;

	for (size_t i = 0; i < n; i++)
		size += strlen(image_name(s[i].name)) + 1 + image_align(s[i].size) + 8;
	return size + 64;
}

/* A segment for each section of code. */
static inline void image_add_segments(uint8_t *image, const Elf64_Shdr *sh, size_t n, size_t at)
{
	Elf64_Ehdr *eh = (Elf64_Ehdr *)image;
	Elf64_Phdr *ph = (Elf64_Phdr *)(image + at);

	for (size_t i = 1; i <= n; i++)
		if (sh[i].sh_flags == IMAGE_CODE && sh[i].sh_type == SHT_PROGBITS)
			ph[eh->e_phnum++] = (Elf64_Phdr){ .p_type = PT_LOAD,
							  .p_flags = PF_R | PF_X,
							  .p_offset = sh[i].sh_offset,
							  .p_vaddr = sh[i].sh_addr,
							  .p_filesz = sh[i].sh_size,
							  .p_memsz = sh[i].sh_size };
	eh->e_phoff = at;
}

/* Headers, the sections from number 1 on, and last their names; to be freed. */
static inline uint8_t *image_make(const struct image_section *s, size_t n, uint16_t machine,
				  size_t *size)
{
	uint8_t *image = mem_zalloc(1, image_size(s, n));
	Elf64_Ehdr *eh = (Elf64_Ehdr *)image;
	Elf64_Shdr *sh = (Elf64_Shdr *)(image + sizeof(*eh));
	size_t segments_at = sizeof(*eh) + (n + 2) * sizeof(*sh), names = 1;
	size_t at = segments_at + n * sizeof(Elf64_Phdr);
	char *text;

	*eh = elf_header(ET_DYN, machine);
	eh->e_shoff = sizeof(*eh);
	eh->e_shnum = (uint16_t)(n + 2);
	eh->e_shstrndx = (uint16_t)(n + 1);
	for (size_t i = 0; i < n; i++) {
		sh[i + 1] = (Elf64_Shdr){ .sh_type = s[i].bytes ? s[i].type : SHT_NOBITS,
					  .sh_flags = s[i].flags,
					  .sh_addr = s[i].addr,
					  .sh_offset = at,
					  .sh_size = s[i].size,
					  .sh_link = s[i].link,
					  .sh_entsize = image_entry_bytes(s[i].type) };
		if (s[i].bytes) {
			memcpy(image + at, s[i].bytes, s[i].size);
			at += image_align(s[i].size);
		}
	}
	image_add_segments(image, sh, n, segments_at);
	text = (char *)image + at;
	for (size_t i = 0; i < n; i++) {
		sh[i + 1].sh_name = (uint32_t)names;
		names += image_put_name(text + names, s[i].name);
	}
	sh[n + 1] = (Elf64_Shdr){ .sh_name = (uint32_t)names, .sh_type = SHT_STRTAB };
	sh[n + 1].sh_offset = at;
	names += image_put_name(text + names, ".shstrtab");
	sh[n + 1].sh_size = names;
	*size = at + names;
	return image;
}

#endif
