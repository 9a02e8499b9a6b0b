/* SPDX-License-Identifier: GPL-2.0-only */
/* The file, or the named memory, that contains an address of code. */
#ifndef IMAGE_H
#define IMAGE_H

struct image {
	const char *name;     /* "libc.so.6", "[vdso]", "[kernel]" */
	const char *path;     /* in the root of a process that maps it; NULL: unknown */
	const char *build_id; /* as hexadecimal digits; NULL: unknown */
};

#endif
