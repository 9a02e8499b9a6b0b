/* SPDX-License-Identifier: GPL-2.0-only */
/* For tests of files that are mapped: when they changed, and whether the mapping leads to them. */
#ifndef UNIT_MAPPED_H
#define UNIT_MAPPED_H

#include <time.h>

#include "process/procmaps.h"
#include "unit.h"

/* The coarse clock has left all files' times behind when this returns. */
static inline void wait_for_tick(void)
{
	const struct timespec tick = { .tv_nsec = 20000000 };

	nanosleep(&tick, NULL);
}

/* Returns true if this process may open the file of its own mapping by the mapping's address. */
static inline bool can_use_map_files(const struct mapping *m)
{
	char path[80];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/map_files/%llx-%llx", (unsigned long long)m->start,
		 (unsigned long long)m->end);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

#endif
