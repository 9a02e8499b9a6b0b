// SPDX-License-Identifier: GPL-2.0-only
/*
 * Go function tables of arbitrary bytes: taken as an ELF file, and as the table of a proper one,
 * with a struct moduledata that fits what its header says.
 */
#include "../go/image.h"
#include "elf/gopclntab.h"
#include "fuzz.h"

static void use_function(struct gopclntab *g, const struct go_func *f)
{
	struct go_values v = go_values_begin(g, f, f->frame_sizes);
	const char *name = gopclntab_name(g, f->name);
	struct go_frame frames[8];
	size_t n;

	if (f->start >= f->end)
		abort();
	while (go_values_next(&v))
		if (v.start >= v.end)
			abort();
	n = gopclntab_frames(g, f->start + (f->end - f->start) / 2, frames, 8);
	for (size_t i = 0; i < n; i++)
		if (frames[i].file)
			(void)strlen(frames[i].file);
	if (name) {
		char *text = malloc(strlen(name) + GO_NAME_SPARE);

		gopclntab_write_name(g, text, name, strlen(name));
		free(text);
	}
}

static void use(const void *image, size_t size)
{
	struct gopclntab g;
	struct elf64 elf;
	struct go_func f;

	if (elf64_open_image(&elf, image, size) || gopclntab_open(&g, &elf))
		return;
	for (size_t i = 0; i < g.n_funcs; i++)
		if (gopclntab_func(&g, i, &f))
			use_function(&g, &f);
	gopclntab_close(&g);
}

FUZZ(bytes, size)
{
	size_t image_bytes;
	struct go_image *image = go_image_of(bytes, size, &image_bytes);
	uint64_t names = 0, units = 0;

	if (size >= 48) {
		memcpy(&names, bytes + 32, 8);
		memcpy(&units, bytes + 40, 8);
	}
	go_image_add_module(image, names, units - names ? units - names : 1, 40);
	use(bytes, size);
	use(image, image_bytes);
	image->header.e_shnum = 0;
	use(image, image_bytes);
	free(image);
	return 0;
}
