// SPDX-License-Identifier: GPL-2.0-only
/* /proc/PID/maps of arbitrary bytes: paths in it are of the traced side's choosing. */
#include "process/procmaps.h"
#include "fuzz.h"

static void check(const struct mappings *maps)
{
	for (size_t i = 0; i < maps->count; i++) {
		const struct mapping *m = &maps->items[i];

		if (m->start >= m->end || !m->path || (i && m[-1].end > m->start))
			abort();
		if (mappings_find(maps, m->start) != m || mappings_find(maps, m->end - 1) != m)
			abort();
	}
}

FUZZ(bytes, size)
{
	char *text = mem_strndup((const char *)bytes, size);
	struct mappings maps;

	mappings_parse(&maps, text, true);
	check(&maps);
	mappings_free(&maps);
	free(text);
	return 0;
}
