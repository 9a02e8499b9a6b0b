/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads the few parts of a linked little-endian ELF64 file that unwind tables and probes need
 * (System V gABI, chapters 4 and 5), from an open file or an image in memory. Nothing is mapped, so
 * a file truncated by the traced side is an error instead of SIGBUS; every size is checked against
 * the file's size.
 */
#ifndef ELF64_H
#define ELF64_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Maximum number of program headers; a file with more is refused. Real files have a dozen. */
#define ELF64_SEGMENTS_MAX 64

struct elf64 {
	int fd;		      /* the file if image is NULL; not owned */
	const uint8_t *image; /* file contents in memory, or NULL; not owned */
	uint64_t size;	      /* size of the file or image, in bytes */
	Elf64_Ehdr header;
	uint32_t n_sections, names_section; /* numbers from the header or section 0 */
};

/*
 * Reads the header. 0, or -errno: -ENOEXEC if the file is not an ELF executable or shared library,
 * -ENOTSUP for ELF32 and for machines other than x86-64 and arm64. Nothing needs closing.
 */
int elf64_open(struct elf64 *elf, int fd);
int elf64_open_image(struct elf64 *elf, const void *image, size_t size);

/* Returns EM_X86_64 or EM_AARCH64: the architecture of the running program. */
uint16_t elf64_own_machine(void);

/* Returns true if the file is for this machine's architecture, not for an emulated one. */
bool elf64_is_native(const struct elf64 *elf);

/*
 * Returns a copy of `bytes` bytes of the file at offset, freed with free(). NULL with errno set:
 * EINVAL if they are not all in the file, EFBIG if they are more than max_bytes.
 */
void *elf64_read(const struct elf64 *elf, uint64_t offset, uint64_t bytes, uint64_t max_bytes);

/* Finds the first section of that name. 0; -ENOENT: no such section or no readable headers. */
int elf64_find_section(const struct elf64 *elf, const char *name, Elf64_Shdr *found);

/* Returns all e_phnum program headers, freed with free(); NULL: unreadable or too many. */
Elf64_Phdr *elf64_read_segments(const struct elf64 *elf);

/* Finds the first program header of that type. 0; -ENOENT. */
int elf64_find_segment(const struct elf64 *elf, uint32_t type, Elf64_Phdr *found);

/* Finds the PT_LOAD segment with file contents at vaddr. 0; -ENOENT. */
int elf64_find_load(const struct elf64 *elf, uint64_t vaddr, Elf64_Phdr *found);

/* Like elf64_read(), but by virtual address, within the file contents of one segment. */
void *elf64_read_vaddr(const struct elf64 *elf, uint64_t vaddr, uint64_t bytes, uint64_t max_bytes);

#endif
