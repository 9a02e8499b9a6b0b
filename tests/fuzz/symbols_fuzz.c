// SPDX-License-Identifier: GPL-2.0-only
/*
 * Symbols of arbitrary bytes: taken as an ELF file, and as the tables and stubs of a proper one, as
 * fuzzers seldom get past the headers on their own. The first four bytes say how long the tables
 * are.
 */
#include "symbols/elfsyms.h"
#include "../symbols/image.h"
#include "fuzz.h"

#define CODE_ADDR 0x1000

static void load(const void *image, size_t size)
{
	struct elfsyms *es = elfsyms_load_image(image, size);

	for (uint64_t addr = CODE_ADDR - 16; es && addr < CODE_ADDR + 256; addr++) {
		const char *name = elfsyms_find(es, addr, NULL);

		if (name && (!*name || !elfsyms_find_readable(es, addr)))
			abort();
	}
	elfsyms_free(es);
}

/* The next part of the input. */
static struct image_section take(const uint8_t **bytes, size_t *left, size_t wanted)
{
	struct image_section s = { .bytes = *bytes, .size = wanted < *left ? wanted : *left };

	*bytes += s.size;
	*left -= s.size;
	return s;
}

static void load_tables(const uint8_t *bytes, size_t size, uint16_t machine)
{
	static const char *const names[] = { ".dynsym", ".dynstr", ".rela.plt", ".symtab", ".plt" };
	static const uint32_t types[] = { SHT_DYNSYM, SHT_STRTAB, SHT_RELA, SHT_SYMTAB,
					  SHT_PROGBITS };
	struct image_section sections[ARRAY_SIZE(names)];
	const uint8_t *lengths = bytes;
	size_t left = size - 4, image_bytes;
	uint8_t *image;

	bytes += 4;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		sections[i] = take(&bytes, &left, i < 4 ? lengths[i] * 8u : left);
		sections[i].name = names[i];
		sections[i].type = types[i];
		sections[i].flags = i == 4 ? IMAGE_CODE : i == 3 ? 0 : SHF_ALLOC;
		sections[i].addr = i == 4 ? CODE_ADDR : 0;
		sections[i].link = i == 2 ? 1 : 2;
	}
	image = image_make(sections, ARRAY_SIZE(names), machine, &image_bytes);
	load(image, image_bytes);
	free(image);
}

FUZZ(bytes, size)
{
	load(bytes, size);
	if (size > 4) {
		load_tables(bytes, size, EM_X86_64);
		load_tables(bytes, size, EM_AARCH64);
	}
	return 0;
}
