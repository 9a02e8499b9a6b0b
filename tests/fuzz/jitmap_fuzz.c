// SPDX-License-Identifier: GPL-2.0-only
/* Perf maps of arbitrary bytes, which come in two parts, are forgotten, and read in one. */
#include <stdbool.h>
#include <sys/mman.h>

#include "symbols/jitmap.h"
#include "fuzz.h"

#define PLACES 64

static void append(int fd, const uint8_t *bytes, size_t size)
{
	if (write(fd, bytes, size) != (ssize_t)size)
		abort();
}

/* In two places that real maps don't have at a time. */
static uint64_t place(int i)
{
	return i % 2 ? 0x7f0000001000 + (uint64_t)i : 0x1000 + (uint64_t)i * 8;
}

static const char *name_at(struct jitmap *map, uint64_t addr)
{
	uint32_t now = jitmap_find(map, addr, UINT64_MAX), ever = jitmap_find(map, addr, 0);
	bool is_anew = !jitmap_name(map, now) && jitmap_name(map, ever);

	if (is_anew) /* an only name is the latest, too */
		abort();
	return jitmap_name(map, now);
}

/* Checks that a file read in parts gives the same names as one read at once. */
static void compare(struct jitmap *map)
{
	char *names[PLACES];

	for (int i = 0; i < PLACES; i++) {
		const char *name = name_at(map, place(i));

		names[i] = name ? strdup(name) : NULL;
	}
	jitmap_drop(map);
	for (int i = 0; i < PLACES; i++) {
		const char *name = name_at(map, place(i));

		if (!name != !names[i] || (name && (!*name || strcmp(name, names[i]))))
			abort();
		free(names[i]);
	}
}

FUZZ(bytes, size)
{
	int fd = memfd_create("map", MFD_CLOEXEC);
	struct jitmap *map = jitmap_from(dup(fd));
	size_t half = size / 2;

	append(fd, bytes, half);
	jitmap_find(map, place(0), size);
	append(fd, bytes + half, size - half);
	compare(map);
	jitmap_free(map);
	close(fd);
	return 0;
}
