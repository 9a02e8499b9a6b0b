// SPDX-License-Identifier: GPL-2.0-only
/* Names of offsets; see known_names.h. An id of the map is an offset + 1, since it is never 0. */
#include <stdlib.h>

#include "base/mem.h"
#include "symbols/known_names.h"

#define MANY	     8192	/* some 250 bytes each */
#define MANY_STRINGS (3 * MANY) /* also of code made at run time, which has no offsets */

void known_names_init(struct known_names *names)
{
	*names = (struct known_names){ .strings = strpool_new() };
}

void known_names_free(struct known_names *names)
{
	strpool_free(names->strings);
}

const char *known_names_keep(struct known_names *names, const char *string)
{
	return string ? strpool_intern(names->strings, string) : NULL;
}

const struct known_name *known_names_find(const struct idmap *offsets, uint64_t offset)
{
	return idmap_find(offsets, offset + 1);
}

const struct known_name *known_names_add(struct known_names *names, struct idmap *offsets,
					 uint64_t offset, const struct known_name *found,
					 const struct srcframe *frames)
{
	size_t n = found->n_frames;
	struct known_name *known = mem_zalloc(1, sizeof(*known) + n * sizeof(known->frames[0]));

	known->name = known_names_keep(names, found->name);
	known->symbol = known_names_keep(names, found->symbol);
	known->n_frames = n;
	for (size_t i = 0; i < n; i++)
		known->frames[i] = (struct srcframe){
			.function = known_names_keep(names, frames[i].function),
			.file = known_names_keep(names, frames[i].file),
			.line = frames[i].line,
		};
	idmap_add(offsets, offset + 1, known);
	names->count++;
	return known;
}

bool known_names_are_many(const struct known_names *names)
{
	return names->count > MANY || strpool_count(names->strings) > MANY_STRINGS;
}

void known_names_free_offsets(struct idmap *offsets)
{
	idmap_free(offsets, free);
}

void known_names_forget(struct known_names *names)
{
	known_names_free(names);
	known_names_init(names);
}
