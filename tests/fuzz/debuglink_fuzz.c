// SPDX-License-Identifier: GPL-2.0-only
/* A build-id note and a .gnu_debuglink of arbitrary bytes, and what is then looked for. */
#include <fcntl.h>

#include "symbols/debugfile.h"
#include "../symbols/image.h"
#include "fuzz.h"

FUZZ(bytes, size)
{
	size_t cut = size ? bytes[0] % size : 0, image_bytes;
	struct image_section sections[] = {
		{ ".note.gnu.build-id", SHT_NOTE, SHF_ALLOC, 0, bytes, cut, 0 },
		{ ".gnu_debuglink", SHT_PROGBITS, 0, 0, bytes + cut, size - cut, 0 },
	};
	uint8_t *image = image_make(sections, 2, EM_X86_64, &image_bytes);
	struct debug_place place = { .own_root_fd = -1, .path = "/proc/self/x" };
	struct elffile f, debug;
	int fd;

	place.root_fd = open("/", O_PATH | O_CLOEXEC);
	if (elffile_open_image(&f, image, image_bytes))
		abort();
	fd = debugfile_open(&f, &place, &debug);
	if (fd >= 0) {
		elffile_close(&debug);
		close(fd);
	}
	elffile_close(&f);
	close(place.root_fd);
	free(image);
	return 0;
}
