// SPDX-License-Identifier: GPL-2.0-only
/*
 * DWARF of arbitrary bytes, read by libdw: as an ELF file, and as the sections of a proper one. The
 * first four bytes say how long the sections are.
 */
#include <sys/mman.h>

#include "symbols/srclines.h"
#include "../symbols/image.h"
#include "fuzz.h"

#define CODE_ADDR  0x1000
#define CODE_BYTES 64

const char *__lsan_default_suppressions(void);

/* libdw (0.188) forgets the rows of a line program that turns out to be broken. */
const char *__lsan_default_suppressions(void)
{
	return "leak:libdw.so";
}

static void look_up(const void *image, size_t size)
{
	int fd = memfd_create("file", MFD_CLOEXEC);
	struct srclines *lines;
	const struct srcframe *frames;

	if (write(fd, image, size) != (ssize_t)size)
		abort();
	lines = srclines_open(fd, NULL, false, NULL);
	for (uint64_t addr = CODE_ADDR; lines && addr < CODE_ADDR + CODE_BYTES; addr++)
		if (srclines_find(lines, addr, &frames) > SRCLINES_MAX_FRAMES)
			abort();
	srclines_free(lines);
	close(fd);
}

static void look_sections_up(const uint8_t *bytes, size_t size)
{
	static const char *const names[] = { ".debug_info", ".debug_abbrev", ".debug_line",
					     ".debug_line_str", ".debug_rnglists" };
	static const char code[CODE_BYTES];
	struct image_section sections[1 + ARRAY_SIZE(names)] = {
		{ ".text", SHT_PROGBITS, IMAGE_CODE, CODE_ADDR, code, sizeof(code), 0 },
	};
	const uint8_t *at = bytes + 4, *end = bytes + size;
	size_t image_bytes;
	uint8_t *image;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		size_t left = (size_t)(end - at), wanted = i < 4 ? bytes[i] * 4u : left;

		wanted = wanted < left ? wanted : left;
		sections[1 + i] = (struct image_section){
			.name = names[i], .type = SHT_PROGBITS, .bytes = at, .size = wanted
		};
		at += wanted;
	}
	image = image_make(sections, ARRAY_SIZE(sections), EM_X86_64, &image_bytes);
	look_up(image, image_bytes);
	free(image);
}

FUZZ(bytes, size)
{
	look_up(bytes, size);
	if (size > 4)
		look_sections_up(bytes, size);
	return 0;
}
