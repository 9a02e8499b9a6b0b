// SPDX-License-Identifier: GPL-2.0-only
/*
 * Symbols that are not in the file itself: which debug file belongs to it, where it is looked for,
 * and what in its place must not be taken, not even opened.
 */
#include <lzma.h>
#include <zlib.h>

#include "../symbols/image.h"
#include "base/unxz.h"
#include "process/roots.h"
#include "symbols/debugfile.h"
#include "symbols/elfsyms.h"
#include "symbols/srclines.h"
#include "symbols/usyms.h"
#include "folder.h"
#include "mapped.h"
#include "silent.h"
#include "unit.h"

#define TEXT_ADDR 0x1000

static const char note[] =
	"\4\0\0\0\3\0\0\0\3\0\0\0GNU\0\xab\xcd\xef"; /* padded by its last zero */
static const char code[64] = { (char)0xc3 };
static const char names[] = "\0hidden\0second";

static const struct image_section text = { ".text", SHT_PROGBITS, IMAGE_CODE, TEXT_ADDR,
					   code,    sizeof(code), 0 };
static const struct image_section build_id = { ".note.gnu.build-id", SHT_NOTE, SHF_ALLOC, 0, note,
					       sizeof(note),	     0 };

static int root_fd = -1; /* of the folder, which is the root of the tests */

BEFORE_EACH()
{
	make_folder();
	root_fd = open(folder, O_PATH | O_CLOEXEC);
}

AFTER_EACH()
{
	close(root_fd);
}

static void write_file(const char *path, const void *bytes, size_t size)
{
	char *full = in_folder(path);
	int fd;

	for (char *slash = strchr(full + strlen(folder) + 2, '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(full, 0755);
		*slash = '/';
	}
	fd = open(full, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	CHECK_EQ(write(fd, bytes, size), size);
	close(fd);
}

#define SYMBOL(name, addr)                                                                       \
	{                                                                                        \
		.st_name = (name), .st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC), .st_shndx = 1, \
		.st_value = (addr), .st_size = 16                                                \
	}

/* With symbols "hidden" and "second" for its code. */
static uint8_t *make_debug(bool has_id, uint64_t text_addr, size_t *size)
{
	Elf64_Sym syms[] = { {}, SYMBOL(1, TEXT_ADDR), SYMBOL(8, TEXT_ADDR + 16) };
	struct image_section sections[] = {
		text,
		{ ".symtab", SHT_SYMTAB, 0, 0, syms, sizeof(syms), 3 },
		{ ".strtab", SHT_STRTAB, 0, 0, names, sizeof(names), 0 },
		build_id,
	};

	sections[0].addr = text_addr;
	sections[0].bytes = NULL;
	return until_end(image_make(sections, has_id ? 4 : 3, EM_X86_64, size));
}

static void write_debug(const char *path, bool has_id, uint64_t text_addr)
{
	size_t size;
	uint8_t *image = make_debug(has_id, text_addr, &size);

	write_file(path, image, size);
}

/* Returns the checksum of a debug file, with or without a build id. */
static uint32_t crc_of_debug(bool has_id)
{
	size_t size;
	uint8_t *image = make_debug(has_id, TEXT_ADDR, &size);
	uint32_t crc = (uint32_t)crc32(0, image, (uInt)size);

	return crc;
}

/* The name of the stripped file's code; "" for none. extra may be NULL. */
static const char *name_with(const struct image_section *extra, bool has_id, const char *path)
{
	struct debug_place place = { .root_fd = root_fd, .own_root_fd = -1, .path = path };
	struct image_section sections[3] = { text };
	static char name[32];
	size_t n = 1, size;
	const char *found;
	struct elfsyms *es;
	uint8_t *image;
	int fd;

	if (has_id)
		sections[n++] = build_id;
	if (extra)
		sections[n++] = *extra;
	image = until_end(image_make(sections, n, EM_X86_64, &size));
	fd = memory_file(image, size);
	es = elfsyms_load(fd, &place);
	found = es ? elfsyms_find(es, TEXT_ADDR + 5, NULL) : "(cannot load)";
	snprintf(name, sizeof(name), "%s", found ? found : "");
	elfsyms_free(es);
	CHECK(!srclines_open(fd, &place, false, NULL));
	close(fd);
	return name;
}

static const char *name_by_id(void)
{
	return name_with(NULL, true, "/bin/stripped");
}

static const char *name_by_link(const char *link, uint32_t crc, bool has_id)
{
	struct image_section section = { ".gnu_debuglink", SHT_PROGBITS, 0, 0, NULL, 0, 0 };
	char bytes[64] = "";

	section.bytes = bytes;
	section.size = ((strlen(link) + 4) & ~(size_t)3) + 4;
	snprintf(bytes, sizeof(bytes), "%s", link);
	memcpy(bytes + section.size - 4, &crc, 4);
	return name_with(&section, has_id, "/bin/stripped");
}

#define BY_ID "/usr/lib/debug/.build-id/ab/cdef.debug"

TEST(finds_a_debug_file_by_build_id)
{
	CHECK_STR(name_by_id(), "");
	write_debug(BY_ID, true, TEXT_ADDR);
	CHECK_STR(name_by_id(), "hidden");
	write_debug(BY_ID, false, TEXT_ADDR); /* with another build-id */
	CHECK_STR(name_by_id(), "");
	write_debug(BY_ID, true, TEXT_ADDR + 16); /* of moved code */
	CHECK_STR(name_by_id(), "");
}

TEST(finds_a_debug_file_by_its_name_in_three_places)
{
	static const char *const places[] = { "/bin/x.debug", "/bin/.debug/x.debug",
					      "/usr/lib/debug/bin/x.debug" };

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		write_debug(places[i], false, TEXT_ADDR);
		CHECK_STR(name_by_link("x.debug", crc_of_debug(false), false), "hidden");
		CHECK_STR(name_by_link("x.debug", crc_of_debug(false), true), "hidden");
		CHECK_STR(name_by_link("x.debug", crc_of_debug(false) + 1, false), "");
		CHECK_STR(name_by_link("y.debug", crc_of_debug(false), false), "");
		unlink(in_folder(places[i]));
	}
}

TEST(refuses_the_right_crc_with_another_build_id)
{
	size_t size;
	uint8_t *image = make_debug(true, TEXT_ADDR, &size);
	uint8_t *id = memmem(image, size, "GNU\0\xab\xcd", 6);

	id[5] ^= 1;
	write_file("/bin/x.debug", image, size);
	CHECK_STR(name_by_link("x.debug", (uint32_t)crc32(0, image, (uInt)size), true), "");
	CHECK_STR(name_by_link("x.debug", (uint32_t)crc32(0, image, (uInt)size), false), "hidden");
}

/* All of a file would have to be read for that, of each one anew. */
TEST(needs_no_crc_of_the_same_build_id)
{
	write_debug("/bin/x.debug", true, TEXT_ADDR);
	CHECK_STR(name_by_link("x.debug", crc_of_debug(true) + 1, true), "hidden");
	CHECK_STR(name_by_link("x.debug", crc_of_debug(true) + 1, false), "");
	CHECK_STR(name_by_link("x.debug", crc_of_debug(true), false), "hidden");
}

TEST(refuses_names_that_are_paths)
{
	write_debug("/bin/x.debug", false, TEXT_ADDR);
	CHECK_STR(name_by_link("../bin/x.debug", crc_of_debug(false), false), "");
	CHECK_STR(name_by_link("/bin/x.debug", crc_of_debug(false), false), "");
	CHECK_STR(name_by_link("..", crc_of_debug(false), false), "");
}

TEST(refuses_a_link_without_all_of_its_crc)
{
	uint32_t crc = crc_of_debug(false);
	char bytes[12] = "x.debug";

	write_debug("/bin/x.debug", false, TEXT_ADDR);
	memcpy(bytes + 8, &crc, 4);
	for (size_t size = 0; size <= sizeof(bytes); size++) {
		struct image_section link = {
			".gnu_debuglink", SHT_PROGBITS, 0, 0, bytes, size, 0
		};

		CHECK_STR(name_with(&link, false, "/bin/stripped"),
			  size < sizeof(bytes) ? "" : "hidden");
	}
}

/* Outside of the root is the right file, and a link to it inside. */
TEST(never_leaves_the_root)
{
	char outside[] = "/tmp/debugfile-outside-XXXXXX";
	size_t size;
	uint8_t *image = make_debug(true, TEXT_ADDR, &size);
	int fd = mkostemp(outside, O_CLOEXEC);

	CHECK_EQ(write(fd, image, size), size);
	for (int i = 0; i < 2; i++) { /* an absolute link, a relative one */
		char *target =
			until_end(mem_printf("%s%s", i ? "../../../../../../../.." : "", outside));

		write_debug("/usr/lib/debug/.build-id/ab/x", true, TEXT_ADDR);
		CHECK_EQ(symlink(target, in_folder(BY_ID)), 0);
		CHECK_EQ(access(in_folder(BY_ID), R_OK), 0);
		CHECK_STR(name_by_id(), "");
		unlink(in_folder(BY_ID));
	}
	close(fd);
	unlink(outside);
}

TEST(follows_links_inside_of_the_root)
{
	write_debug("/elsewhere/x", true, TEXT_ADDR);
	write_debug("/usr/lib/debug/.build-id/ab/y", true, TEXT_ADDR);
	CHECK_EQ(symlink("/elsewhere/x", in_folder(BY_ID)), 0);
	CHECK_STR(name_by_id(), "hidden");
}

/* A pipe blocks who opens it, and some devices do things. */
TEST(opens_nothing_but_regular_files)
{
	char *path;
	int root;

	write_debug("/usr/lib/debug/.build-id/ab/x", true, TEXT_ADDR);
	path = in_folder(BY_ID);
	CHECK_EQ(mkfifo(path, 0600), 0);
	CHECK_STR(name_by_id(), "");
	CHECK_EQ(root_open_file(root_fd, BY_ID), -EACCES);
	CHECK_EQ(root_open_file(root_fd, "/usr"), -EACCES);
	unlink(path);
	CHECK_EQ(symlink("/proc/self/fd/0", path), 0);
	CHECK_STR(name_by_id(), "");
	root = open("/", O_PATH | O_CLOEXEC);
	CHECK_EQ(root_open_file(root, "/dev/zero"), -EACCES);
	close(root);
}

/* Holes cost nothing to who makes them: the file is larger than what is read for a CRC. */
TEST(refuses_a_debug_file_of_4_gb)
{
	write_debug("/bin/x.debug", false, TEXT_ADDR);
	CHECK_EQ(truncate(in_folder("/bin/x.debug"), 4ll << 30), 0);
	CHECK_STR(name_by_link("x.debug", crc_of_debug(false), false), "");
}

TEST(looks_into_the_cache_of_debuginfod)
{
	setenv("DEBUGINFOD_CACHE_PATH", in_folder("cache"), 1);
	unsetenv("DEBUGINFOD_URLS");
	CHECK_STR(name_by_id(), "");
	write_debug("/cache/abcdef/debuginfo", true, TEXT_ADDR);
	CHECK_STR(name_by_id(), "hidden");
	write_debug("/cache/abcdef/debuginfo", false, TEXT_ADDR);
	CHECK_STR(name_by_id(), "");
	unsetenv("DEBUGINFOD_CACHE_PATH");
}

/* ---- debug files that change ---- */

static const struct image_section link_to_x = { ".gnu_debuglink",  SHT_PROGBITS, 0, 0,
						"x.debug\0\0\0\0", 12,		 0 };

/* Writes a file without symbols, and maps it. Returns the address of its code. */
static uint64_t map_stripped(const char *path)
{
	struct image_section sections[] = { text, build_id, link_to_x };
	const Elf64_Ehdr *header;
	uint8_t *image;
	size_t size;
	void *at;
	int fd;

	image = until_end(image_make(sections, ARRAY_SIZE(sections), EM_X86_64, &size));
	write_file(path, image, size);
	wait_for_tick();
	fd = open(in_folder(path), O_RDONLY | O_CLOEXEC);
	at = mmap(NULL, size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	close(fd);
	if (at == MAP_FAILED)
		UNIT_FAIL("cannot map");
	header = (const Elf64_Ehdr *)image;
	return (uintptr_t)at + ((const Elf64_Phdr *)(image + header->e_phoff))->p_offset;
}

static const char *name_at(struct usyms *us, uint64_t addr)
{
	struct location where;
	const char *name;

	usyms_locate(us, getpid(), 1, 0, &addr, 1, &where);
	name = usyms_name(&where, false);
	return name ? name : "";
}

TEST(a_debug_file_that_is_overwritten_gives_no_wrong_names)
{
	static const struct processes_options unfed = { .max_mappings = 1 << 16 };
	struct processes *table = processes_new(&unfed);
	struct usyms *us = usyms_new(table, NULL);
	uint64_t start = map_stripped("/bin/stripped");
	size_t size;
	uint8_t *image = make_debug(true, TEXT_ADDR, &size);
	const char *name;

	write_file("/bin/x.debug", image, size);
	CHECK_STR(name_at(us, start), "hidden");
	memcpy(memmem(image, size, "second", 6), "lookup", 6);
	wait_for_tick();
	write_file("/bin/x.debug", image, size);
	CHECK(strstr(SAID(name = name_at(us, start + 16)), "or its debug file, changed"));
	CHECK_STR(name, "");
	usyms_free(us);
	processes_free(table);
}

/* ---- MiniDebugInfo ---- */

static uint8_t *pack(const void *bytes, size_t size, size_t *packed_bytes)
{
	size_t cap = lzma_stream_buffer_bound(size);
	uint8_t *packed = until_end(mem_zalloc(1, cap));

	*packed_bytes = 0;
	CHECK_EQ(lzma_easy_buffer_encode(0, LZMA_CHECK_CRC32, NULL, bytes, size, packed,
					 packed_bytes, cap),
		 LZMA_OK);
	return packed;
}

TEST(unpacks_minidebuginfo)
{
	size_t size, packed_bytes;
	uint8_t *image = make_debug(false, TEXT_ADDR, &size);
	uint8_t *packed = pack(image, size, &packed_bytes);
	struct image_section section = { ".gnu_debugdata", SHT_PROGBITS, 0, 0,
					 packed,	   packed_bytes, 0 };

	CHECK_STR(name_with(&section, true, NULL), "hidden");
	packed[packed_bytes / 2] ^= 1;
	CHECK_STR(name_with(&section, true, NULL), "");
	packed[packed_bytes / 2] ^= 1;
	section.size -= 10;
	CHECK_STR(name_with(&section, true, NULL), "");
}

TEST(bounds_what_it_unpacks)
{
	size_t size = 65u << 20, packed_bytes, unpacked_bytes;
	uint8_t *zeros = mem_zalloc(1, size), *packed = pack(zeros, size, &packed_bytes), *unpacked;

	errno = 0;
	CHECK(!unxz(packed, packed_bytes, &unpacked_bytes));
	CHECK_EQ(errno, EFBIG);
	packed = pack(zeros, 60u << 20, &packed_bytes);
	unpacked = unxz(packed, packed_bytes, &unpacked_bytes);
	CHECK_EQ(unpacked_bytes, 60u << 20);
	free(unpacked);
	free(zeros);
}

/* ---- roots ---- */

TEST(keeps_one_descriptor_for_each_root)
{
	struct roots *roots = roots_new();
	int fd = roots_of(roots, getpid());

	CHECK(fd >= 0);
	CHECK_EQ(roots_of(roots, getpid()), fd);
	CHECK_EQ(roots_of(roots, 0), -ENOENT);
	CHECK(roots_own(roots) >= 0);
	roots_keep(roots, fd);
	roots_release(roots);
	CHECK_EQ(roots_of(roots, getpid()), fd);
	roots_release(roots);
	CHECK_EQ(fcntl(fd, F_GETFD), -1);
	fd = roots_of(roots, getpid());
	roots_free(roots);
	CHECK_EQ(fcntl(fd, F_GETFD), -1);
}
