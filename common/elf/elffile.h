/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ELF files of the traced side through libelf, for readers of symbols: both classes and byte
 * orders. Files are read with pread(2), never through a mapping: the traced side could truncate
 * them, and the fault would end the tracer. Every section is checked against the file's size and a
 * bound of ours before libelf allocates for it, and a broken file is an error, never a crash.
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
	int fd;		   /* not owned; -1: an image */
	const void *image; /* not owned */
	uint64_t bytes;	   /* the whole file's */
	GElf_Ehdr header;
	size_t n_sections, names_section; /* also beyond the 16 bits of the header */
};

/*
 * Opens a linked file, whose descriptor stays the caller's and has to outlive this. 0; -ENOEXEC if
 * it is not a linked ELF file, -EINVAL if it is broken, or -errno. Nothing is open after an error.
 */
int elffile_open(struct elffile *f, int fd);

/* The same for a file that was not linked, and has no code that can be mapped. */
int elffile_open_codeless(struct elffile *f, int fd);
int elffile_open_image(struct elffile *f, const void *image, size_t size);
void elffile_close(struct elffile *f);

/* Fills *elf for the same file, as elf64_open() would. */
int elffile_as_elf64(const struct elffile *f, struct elf64 *elf);

/*
 * Returns true, with its header, if a section's bytes are in the file uncompressed, and not too
 * many.
 */
bool elffile_has_bytes(const struct elffile *f, Elf_Scn *scn, GElf_Shdr *header);

/* Returns the section's bytes, until elffile_close(); NULL if it has none, or too many. */
Elf_Data *elffile_data(const struct elffile *f, Elf_Scn *scn);

/*
 * Returns a copy of some bytes of the file, which outlives it; freed with free(). NULL with errno
 * set.
 */
void *elffile_copy(const struct elffile *f, uint64_t offset, size_t size);

/* Returns the first section of that name, with its header; NULL: there is none. */
Elf_Scn *elffile_section(const struct elffile *f, const char *name, GElf_Shdr *header);

/* Returns the section's name; "" if it can't be read. */
const char *elffile_section_name(const struct elffile *f, const GElf_Shdr *header);

/* True if there is a table of all symbols, not only the exported ones. */
bool elffile_has_symtab(const struct elffile *f);

/* The NT_GNU_BUILD_ID note. Returns its length; 0: there is none. */
size_t elffile_build_id(const struct elffile *f, uint8_t id[ELFFILE_BUILD_ID_MAX]);

/* .gnu_debuglink: the name of the file with the symbols, and its CRC. False: there is none. */
bool elffile_debuglink(const struct elffile *f, char name[256], uint32_t *crc);

#endif
