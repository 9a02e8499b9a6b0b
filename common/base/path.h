/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PATH_H
#define PATH_H

#include <string.h>

/* Returns the part after a path's last slash, or the whole path if it has no slash. */
static inline const char *path_last(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

#endif
