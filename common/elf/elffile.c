// SPDX-License-Identifier: GPL-2.0-only
/* Reads ELF files with libelf, within bounds; see elffile.h. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf/elffile.h"
#include "elf/unreadable.h"

#define NOTES_MAX_BYTES	 (64u << 10)
#define NOTES_MAX	 16 /* maximum number of note sections read */
#define LINK_MAX_BYTES	 512
#define SECTION_NAME_MAX 256

/*
 * Returns true if counts are outside of the header (extended numbering, for more than 65,279
 * sections): libelf may then allocate without bound. elf64_open() bounds them, for the files that
 * it accepts. The tests work for both byte orders.
 */
static bool has_extended_count(const unsigned char *shoff, const unsigned char *shnum,
			       size_t offset_bytes)
{
	static const unsigned char zeros[8];

	return memcmp(shoff, zeros, offset_bytes) && !memcmp(shnum, zeros, 2);
}

static bool has_bounded_sections(const struct elffile *f)
{
	struct elf64 elf;

	return !elffile_as_elf64(f, &elf) && elf.n_sections;
}

static bool has_sane_header(const struct elffile *f, const unsigned char *h, size_t size)
{
	bool is_64bit = size > EI_CLASS && h[EI_CLASS] == ELFCLASS64;
	const unsigned char *shoff = h + (is_64bit ? 0x28 : 0x20);
	const unsigned char *phnum = h + (is_64bit ? 0x38 : 0x2c);
	const unsigned char *shnum = h + (is_64bit ? 0x3c : 0x30);

	if (size < (is_64bit ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr)))
		return false;
	if (phnum[0] == 0xff && phnum[1] == 0xff)
		return false;
	return !has_extended_count(shoff, shnum, is_64bit ? 8 : 4) || has_bounded_sections(f);
}

static int check_header(const struct elffile *f, const void *header, size_t size)
{
	if (size < SELFMAG || memcmp(header, ELFMAG, SELFMAG))
		return -ENOEXEC;
	return has_sane_header(f, header, size) && elf_version(EV_CURRENT) != EV_NONE ? 0 : -EINVAL;
}

static int check_elf(const struct elffile *f, bool has_code)
{
	bool is_code = f->header.e_type == ET_EXEC || f->header.e_type == ET_DYN;

	if (is_code != has_code)
		return -ENOEXEC;
	return f->header.e_shoff > f->bytes ? -EINVAL : 0;
}

/* Takes ownership of elf. */
static int begin(struct elffile *f, Elf *elf, bool has_code)
{
	int err = -ENOEXEC;

	f->elf = elf;
	if (elf && elf_kind(elf) == ELF_K_ELF && gelf_getehdr(elf, &f->header))
		err = check_elf(f, has_code);
	if (!err && elf_getshdrnum(elf, &f->n_sections))
		f->n_sections = 0;
	if (!err && elf_getshdrstrndx(elf, &f->names_section))
		f->names_section = 0;
	if (err) {
		unreadable_report(-errno);
		elffile_close(f);
	}
	return err;
}

static int open_file(struct elffile *f, int fd, bool has_code)
{
	unsigned char header[sizeof(Elf64_Ehdr)];
	struct stat st;
	ssize_t n;
	int err;

	*f = (struct elffile){ .fd = fd };
	if (fstat(fd, &st))
		return -errno;
	f->bytes = st.st_size;
	n = pread(fd, header, sizeof(header), 0);
	if (n < 0) {
		err = -errno;
		unreadable_report(err);
		return err;
	}
	err = check_header(f, header, (size_t)n);
	return err ? err : begin(f, elf_begin(fd, ELF_C_READ, NULL), has_code);
}

int elffile_open(struct elffile *f, int fd)
{
	return open_file(f, fd, true);
}

int elffile_open_codeless(struct elffile *f, int fd)
{
	return open_file(f, fd, false);
}

/* Casts const away: libelf takes a non-const pointer, but doesn't write to an image. */
int elffile_open_image(struct elffile *f, const void *image, size_t size)
{
	int err;

	*f = (struct elffile){ .fd = -1, .image = image, .bytes = size };
	err = check_header(f, image, size);
	return err ? err : begin(f, elf_memory((char *)image, size), true);
}

int elffile_as_elf64(const struct elffile *f, struct elf64 *elf)
{
	return f->image ? elf64_open_image(elf, f->image, f->bytes) : elf64_open(elf, f->fd);
}

void elffile_close(struct elffile *f)
{
	elf_end(f->elf);
	f->elf = NULL;
}

static bool is_within(uint64_t offset, uint64_t bytes, uint64_t limit)
{
	return offset <= limit && bytes <= limit - offset;
}

bool elffile_has_bytes(const struct elffile *f, Elf_Scn *scn, GElf_Shdr *header)
{
	return scn && gelf_getshdr(scn, header) && header->sh_type != SHT_NOBITS &&
	       !(header->sh_flags & SHF_COMPRESSED) &&
	       header->sh_size <= ELFFILE_SECTION_MAX_BYTES &&
	       is_within(header->sh_offset, header->sh_size, f->bytes);
}

Elf_Data *elffile_data(const struct elffile *f, Elf_Scn *scn)
{
	GElf_Shdr sh;

	return elffile_has_bytes(f, scn, &sh) ? elf_getdata(scn, NULL) : NULL;
}

void *elffile_copy(const struct elffile *f, uint64_t offset, size_t size)
{
	struct elf64 bytes = { .fd = f->fd, .image = f->image, .size = f->bytes };

	return elf64_read(&bytes, offset, size, ELFFILE_SECTION_MAX_BYTES);
}

const char *elffile_section_name(const struct elffile *f, const GElf_Shdr *header)
{
	Elf_Data *strings = elffile_data(f, elf_getscn(f->elf, f->names_section));
	size_t left = strings && header->sh_name < strings->d_size
			      ? strings->d_size - header->sh_name
			      : 0;
	const char *name = left ? (const char *)strings->d_buf + header->sh_name : "";

	/* not elf_strptr(): it may scan a whole unterminated string section on each call */
	if (left && !memchr(name, '\0', left < SECTION_NAME_MAX ? left : SECTION_NAME_MAX))
		return "";
	return name;
}

Elf_Scn *elffile_section(const struct elffile *f, const char *name, GElf_Shdr *header)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(f->elf, scn)))
		if (gelf_getshdr(scn, header) && !strcmp(elffile_section_name(f, header), name))
			return scn;
	return NULL;
}

bool elffile_has_symtab(const struct elffile *f)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	while ((scn = elf_nextscn(f->elf, scn)))
		if (gelf_getshdr(scn, &sh) && sh.sh_type == SHT_SYMTAB)
			return true;
	return false;
}

static size_t find_build_id(Elf_Data *notes, uint8_t id[ELFFILE_BUILD_ID_MAX])
{
	size_t at = 0, name, desc;
	GElf_Nhdr note;

	while ((at = gelf_getnote(notes, at, &note, &name, &desc))) {
		const char *bytes = notes->d_buf;

		if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != sizeof("GNU") ||
		    memcmp(bytes + name, "GNU", sizeof("GNU")) || note.n_descsz < 2 ||
		    note.n_descsz > ELFFILE_BUILD_ID_MAX)
			continue;
		memcpy(id, bytes + desc, note.n_descsz);
		return note.n_descsz;
	}
	return 0;
}

size_t elffile_build_id(const struct elffile *f, uint8_t id[ELFFILE_BUILD_ID_MAX])
{
	Elf_Scn *scn = NULL;
	int n_notes = 0;
	size_t n = 0;

	while (!n && n_notes < NOTES_MAX && (scn = elf_nextscn(f->elf, scn))) {
		Elf_Data *data;
		GElf_Shdr sh;

		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_NOTE ||
		    sh.sh_size > NOTES_MAX_BYTES)
			continue;
		n_notes++;
		data = elffile_data(f, scn);
		n = data ? find_build_id(data, id) : 0;
	}
	return n;
}

/* Layout: the name, zero-padded to a multiple of 4, and the CRC in the file's byte order. */
bool elffile_debuglink(const struct elffile *f, char name[256], uint32_t *crc)
{
	GElf_Shdr sh;
	Elf_Scn *scn = elffile_section(f, ".gnu_debuglink", &sh);
	Elf_Data *data = scn && sh.sh_size <= LINK_MAX_BYTES ? elffile_data(f, scn) : NULL;
	const uint8_t *b;
	size_t n, at;

	if (!data || !data->d_buf)
		return false;
	n = strnlen(data->d_buf, data->d_size);
	at = (n + 4) & ~(size_t)3;
	if (!n || n > 255 || at + 4 > data->d_size)
		return false;
	memcpy(name, data->d_buf, n + 1);
	b = (const uint8_t *)data->d_buf + at;
	*crc = (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
	if (f->header.e_ident[EI_DATA] == ELFDATA2MSB)
		*crc = __builtin_bswap32(*crc);
	return !strchr(name, '/') && strcmp(name, ".") && strcmp(name, "..");
}
