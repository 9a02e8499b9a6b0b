// SPDX-License-Identifier: GPL-2.0-only
/*
 * Headers, sections and segments of ELF64 files. libelf is not used here: it first reads the whole
 * section header table, and a tool opens thousands of files at its start. Integers need no
 * conversion: the hosts are little-endian, like the files.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "elf/elf64.h"
#include "elf/unreadable.h"

#define NAMES_MAX_BYTES	   (1u << 20)
#define SECTIONS_MAX	   (1u << 18)
#define SECTIONS_MAX_BYTES (SECTIONS_MAX * sizeof(Elf64_Shdr))

static int read_file(int fd, uint64_t offset, uint8_t *to, uint64_t bytes)
{
	while (bytes) {
		ssize_t n = pread(fd, to, bytes, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EINVAL;
		to += n;
		offset += n;
		bytes -= n;
	}
	return 0;
}

static int read_at(const struct elf64 *elf, uint64_t offset, void *to, uint64_t bytes)
{
	if (offset > elf->size || bytes > elf->size - offset)
		return -EINVAL;
	if (!elf->image) {
		int err = read_file(elf->fd, offset, to, bytes);

		unreadable_report(err);
		return err;
	}
	memcpy(to, elf->image + offset, bytes);
	return 0;
}

static int check_header(const Elf64_Ehdr *eh)
{
	if (memcmp(eh->e_ident, ELFMAG, SELFMAG))
		return -ENOEXEC;
	if (eh->e_ident[EI_CLASS] != ELFCLASS64 || eh->e_ident[EI_DATA] != ELFDATA2LSB ||
	    (eh->e_machine != EM_X86_64 && eh->e_machine != EM_AARCH64))
		return -ENOTSUP;
	return eh->e_type == ET_EXEC || eh->e_type == ET_DYN ? 0 : -ENOEXEC;
}

/* Reads the section counts. Section 0 has those that don't fit into the header (chapter 4). */
static void read_section_numbers(struct elf64 *elf)
{
	const Elf64_Ehdr *eh = &elf->header;
	Elf64_Shdr first;

	elf->n_sections = eh->e_shnum;
	elf->names_section = eh->e_shstrndx;
	if (eh->e_shnum || !eh->e_shoff || read_at(elf, eh->e_shoff, &first, sizeof(first)) ||
	    first.sh_size > SECTIONS_MAX)
		return;
	elf->n_sections = (uint32_t)first.sh_size;
	if (eh->e_shstrndx == SHN_XINDEX)
		elf->names_section = first.sh_link;
}

static int read_header(struct elf64 *elf)
{
	int err;

	if (elf->size < sizeof(elf->header))
		return -ENOEXEC;
	err = read_at(elf, 0, &elf->header, sizeof(elf->header));
	err = err ? err : check_header(&elf->header);
	if (!err)
		read_section_numbers(elf);
	return err;
}

int elf64_open(struct elf64 *elf, int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	*elf = (struct elf64){ .fd = fd, .size = st.st_size };
	return read_header(elf);
}

int elf64_open_image(struct elf64 *elf, const void *image, size_t size)
{
	*elf = (struct elf64){ .fd = -1, .image = image, .size = size };
	return read_header(elf);
}

/* This program's own ELF header, a symbol defined by the linker. */
extern const Elf64_Ehdr own_header __asm__("__ehdr_start") __attribute__((visibility("hidden")));

uint16_t elf64_own_machine(void)
{
	return own_header.e_machine;
}

bool elf64_is_native(const struct elf64 *elf)
{
	return elf->header.e_machine == elf64_own_machine();
}

void *elf64_read(const struct elf64 *elf, uint64_t offset, uint64_t bytes, uint64_t max_bytes)
{
	void *copy;
	int err;

	if (bytes > max_bytes || offset > elf->size || bytes > elf->size - offset) {
		errno = bytes > max_bytes ? EFBIG : EINVAL;
		return NULL;
	}
	copy = mem_realloc(NULL, bytes, 1);
	err = read_at(elf, offset, copy, bytes);
	if (!err)
		return copy;
	free(copy);
	errno = -err;
	return NULL;
}

static Elf64_Shdr *read_sections(const struct elf64 *elf)
{
	const Elf64_Ehdr *eh = &elf->header;

	if (!eh->e_shoff || !elf->n_sections || eh->e_shentsize != sizeof(Elf64_Shdr))
		return NULL;
	return elf64_read(elf, eh->e_shoff, (uint64_t)elf->n_sections * sizeof(Elf64_Shdr),
			  SECTIONS_MAX_BYTES);
}

static bool is_named(const char *names, uint64_t size, uint32_t at, const char *name)
{
	size_t bytes = strlen(name) + 1;

	return at < size && bytes <= size - at && !memcmp(names + at, name, bytes);
}

static int find_name(const struct elf64 *elf, const Elf64_Shdr *sections, const char *name,
		     Elf64_Shdr *found)
{
	unsigned int n = elf->n_sections, strings = elf->names_section, i = 0;
	char *names;

	if (strings >= n || sections[strings].sh_type != SHT_STRTAB)
		return -ENOENT;
	names = elf64_read(elf, sections[strings].sh_offset, sections[strings].sh_size,
			   NAMES_MAX_BYTES);
	if (!names)
		return -ENOENT;
	while (i < n && !is_named(names, sections[strings].sh_size, sections[i].sh_name, name))
		i++;
	if (i < n)
		*found = sections[i];
	free(names);
	return i < n ? 0 : -ENOENT;
}

int elf64_find_section(const struct elf64 *elf, const char *name, Elf64_Shdr *found)
{
	Elf64_Shdr *sections = read_sections(elf);
	int err = sections ? find_name(elf, sections, name, found) : -ENOENT;

	free(sections);
	return err;
}

static bool holds(const Elf64_Phdr *ph, uint32_t type, const uint64_t *vaddr)
{
	return ph->p_type == type && (!vaddr || *vaddr - ph->p_vaddr < ph->p_filesz);
}

Elf64_Phdr *elf64_read_segments(const struct elf64 *elf)
{
	const Elf64_Ehdr *eh = &elf->header;

	if (!eh->e_phnum || eh->e_phentsize != sizeof(Elf64_Phdr))
		return NULL;
	return elf64_read(elf, eh->e_phoff, (uint64_t)eh->e_phnum * sizeof(Elf64_Phdr),
			  ELF64_SEGMENTS_MAX * sizeof(Elf64_Phdr));
}

static int find_segment(const struct elf64 *elf, uint32_t type, const uint64_t *vaddr,
			Elf64_Phdr *found)
{
	Elf64_Phdr *segments = elf64_read_segments(elf);
	unsigned int n = elf->header.e_phnum, i = 0;

	if (!segments)
		return -ENOENT;
	while (i < n && !holds(&segments[i], type, vaddr))
		i++;
	if (i < n)
		*found = segments[i];
	free(segments);
	return i < n ? 0 : -ENOENT;
}

int elf64_find_segment(const struct elf64 *elf, uint32_t type, Elf64_Phdr *found)
{
	return find_segment(elf, type, NULL, found);
}

int elf64_find_load(const struct elf64 *elf, uint64_t vaddr, Elf64_Phdr *found)
{
	return find_segment(elf, PT_LOAD, &vaddr, found);
}

void *elf64_read_vaddr(const struct elf64 *elf, uint64_t vaddr, uint64_t bytes, uint64_t max_bytes)
{
	Elf64_Phdr load;

	if (elf64_find_load(elf, vaddr, &load) || bytes > load.p_filesz - (vaddr - load.p_vaddr)) {
		errno = EINVAL;
		return NULL;
	}
	return elf64_read(elf, load.p_offset + (vaddr - load.p_vaddr), bytes, max_bytes);
}
