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

/*
 * Returns the short name of a source file: the last component of its path, or all of it if it is
 * not a path, such as "node:internal/timers".
 */
static inline const char *path_source(const char *source)
{
	const char *colon = strchr(source, ':'), *slash = strchr(source, '/');

	return colon && slash && colon + 1 < slash ? source : path_last(source);
}

#endif
