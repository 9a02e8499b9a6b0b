/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PATH_H
#define PATH_H

#include <string.h>

/* What is behind a path's last slash; all of it where there is none. */
static inline const char *path_last(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

#endif
