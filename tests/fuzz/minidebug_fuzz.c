// SPDX-License-Identifier: GPL-2.0-only
/* MiniDebugInfo of arbitrary bytes: as they are packed, and as a file that holds them. */
#include "base/unxz.h"
#include "symbols/elfsyms.h"
#include "../symbols/image.h"
#include "fuzz.h"

FUZZ(bytes, size)
{
	struct image_section sections[] = {
		{ ".text", SHT_PROGBITS, IMAGE_CODE, 0x1000, bytes, size, 0 },
		{ ".gnu_debugdata", SHT_PROGBITS, 0, 0, bytes, size, 0 },
	};
	size_t image_bytes, unpacked_bytes;
	uint8_t *image = image_make(sections, 2, EM_X86_64, &image_bytes);
	void *unpacked = unxz(bytes, size, &unpacked_bytes);

	free(unpacked);
	elfsyms_free(elfsyms_load_image(image, image_bytes));
	free(image);
	return 0;
}
