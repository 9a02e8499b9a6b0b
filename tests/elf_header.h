/* SPDX-License-Identifier: GPL-2.0-only */
/* The header of ELF files that tests and fuzzers make. */
#ifndef ELF_HEADER_H
#define ELF_HEADER_H

#include <elf.h>
#include <string.h>

/* Returns the header of a 64-bit file with little-endian numbers. */
static inline Elf64_Ehdr elf_header(uint16_t type, uint16_t machine)
{
	Elf64_Ehdr header = { .e_type = type,
			      .e_machine = machine,
			      .e_version = EV_CURRENT,
			      .e_ehsize = sizeof(Elf64_Ehdr),
			      .e_phentsize = sizeof(Elf64_Phdr),
			      .e_shentsize = sizeof(Elf64_Shdr) };

	memcpy(header.e_ident, ELFMAG "\2\1\1", SELFMAG + 3); /* class, byte order, version */
	return header;
}

#endif
