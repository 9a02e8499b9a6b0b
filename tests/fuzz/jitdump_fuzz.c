// SPDX-License-Identifier: GPL-2.0-only
/* Jitdumps of arbitrary bytes, which come in two parts, are forgotten, and read in one. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbols/jitdump.h"
#include "symbols/jitmap.h"

#define PLACES 64

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void append(int fd, const uint8_t *bytes, size_t size)
{
	if (write(fd, bytes, size) != (ssize_t)size)
		abort();
}

static uint64_t place(int i)
{
	return 0x1000 + (uint64_t)i * 8;
}

struct seen {
	char *name;
	uint32_t line;
};

static struct seen look(struct jitmap *map, int i)
{
	const char *name = jitmap_find(map, place(i)), *file = NULL;
	struct seen seen = { .name = name ? strdup(name) : NULL };

	seen.line = jitmap_line(map, place(i), &file);
	if ((seen.line && (!file || !name)) || (name && !*name))
		abort();
	return seen;
}

/* What was read in parts is the same as what is read at once. */
static void compare(struct jitmap *map)
{
	struct seen before[PLACES];

	for (int i = 0; i < PLACES; i++)
		before[i] = look(map, i);
	jitmap_drop(map);
	for (int i = 0; i < PLACES; i++) {
		struct seen now = look(map, i);

		if (!now.name != !before[i].name || now.line != before[i].line ||
		    (now.name && strcmp(now.name, before[i].name)))
			abort();
		free(now.name);
		free(before[i].name);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	int fd = memfd_create("dump", MFD_CLOEXEC);
	struct jitmap *map = jitmap_from_dump(dup(fd), true);
	size_t half = size / 2;

	append(fd, bytes, half);
	jitdump_is_of(fd, 1);
	jitmap_find(map, place(0));
	append(fd, bytes + half, size - half);
	compare(map);
	jitmap_free(map);
	close(fd);
	return 0;
}
