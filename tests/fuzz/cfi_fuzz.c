// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unwind tables of arbitrary bytes: taken as an ELF file, and as the .eh_frame of a proper one, as
 * fuzzers seldom get past the headers on their own; with gaps between them, which are code.
 */
#include "../cfi/image.h"
#include "unwind/cfi_gaps.h"
#include "fuzz.h"

static void load(const void *image, size_t size)
{
	struct cfi_table t;
	struct elf64 elf;
	int err = image_load(&t, image, size);

	if (!image_table_is_sane(&t) || (err && t.count))
		abort();
	if (!err && !elf64_open_image(&elf, image, size))
		cfi_fill_known_gaps(&t, &elf);
	if (!image_table_is_sane(&t))
		abort();
	cfi_free(&t);
}

FUZZ(bytes, size)
{
	size_t image_bytes;
	struct image *image = image_new(bytes, size, &image_bytes);

	load(bytes, size);
	load(image, image_bytes);
	image->header.e_shoff = 0;
	load(image, image_bytes);
	free(image);
	return 0;
}
