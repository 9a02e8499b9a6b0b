/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads ELF files of the traced side with libelf, for symbols: both classes and byte orders. Files
 * are read with pread(2), never mapped: the traced side could truncate them, and the fault would
 * end the tracer. Every section is checked against the file's size and ELFFILE_SECTION_MAX_BYTES
 * before libelf allocates for it; a broken file is an error, never a crash.
 */
#ifndef ELFFILE_H
#define ELFFILE_H

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/elf64.h"

#define ELFFILE_SECTION_MAX_BYTES (1u << 28)
#define ELFFILE_BUILD_ID_MAX	  64

struct elffile {
	Elf *elf;
	int fd;		   /* not owned; -1: image is used */
	const void *image; /* not owned; NULL: fd is used */
	uint64_t bytes;	   /* size of the file or image */
	GElf_Ehdr header;
	size_t n_sections, names_section; /* may exceed the header's 16 bits */
};

/*
 * Opens a linked ELF file. The caller still owns fd, which must outlive f. 0; -ENOEXEC: not a
 * linked ELF file; -EINVAL: broken; or -errno. Nothing is open after an error; else closed with
 * elffile_close().
 */
int elffile_open(struct elffile *f, int fd);

/* Like elffile_open(), for files that are not linked (ET_REL, ...), whose code can't be mapped. */
int elffile_open_codeless(struct elffile *f, int fd);
int elffile_open_image(struct elffile *f, const void *image, size_t size);
void elffile_close(struct elffile *f);

/* Opens the same file or image as struct elf64; returns as elf64_open() does. */
int elffile_as_elf64(const struct elffile *f, struct elf64 *elf);

/*
 * Reads a section's header. Returns true if the section's bytes are in the file, uncompressed, and
 * at most ELFFILE_SECTION_MAX_BYTES.
 */
bool elffile_has_bytes(const struct elffile *f, Elf_Scn *scn, GElf_Shdr *header);

/* Returns the section's bytes, valid until elffile_close(); NULL: see elffile_has_bytes(). */
Elf_Data *elffile_data(const struct elffile *f, Elf_Scn *scn);

/* Returns a copy of size bytes at offset, freed with free(); may outlive f. NULL with errno set. */
void *elffile_copy(const struct elffile *f, uint64_t offset, size_t size);

/* Returns the first section of that name, with its header; NULL: no such section. */
Elf_Scn *elffile_section(const struct elffile *f, const char *name, GElf_Shdr *header);

/* Returns the section's name; "" if it can't be read. */
const char *elffile_section_name(const struct elffile *f, const GElf_Shdr *header);

/* Returns true if the file has a table of all symbols, not only of the exported ones. */
bool elffile_has_symtab(const struct elffile *f);

/* Reads the NT_GNU_BUILD_ID note. Returns its length in bytes; 0: no such note. */
size_t elffile_build_id(const struct elffile *f, uint8_t id[ELFFILE_BUILD_ID_MAX]);

/* Reads .gnu_debuglink: name and CRC of the file with the symbols. False: no such section. */
bool elffile_debuglink(const struct elffile *f, char name[256], uint32_t *crc);

#endif
