// SPDX-License-Identifier: GPL-2.0-only
/* Names of arbitrary bytes, as C++ and as Rust. */
#include "symbols/demangle.h"
#include "fuzz.h"

FUZZ(bytes, size)
{
	static const char *const starts[] = { "", "_Z", "_R" };

	for (size_t i = 0; i < ARRAY_SIZE(starts); i++) {
		char *name = mem_printf("%s%.*s", starts[i], (int)size, (const char *)bytes);

		free(demangle(name));
		free(name);
	}
	return 0;
}
