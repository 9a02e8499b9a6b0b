/* SPDX-License-Identifier: GPL-2.0-only */
/* The file, or named memory region, that contains a code address. */
#ifndef IMAGE_H
#define IMAGE_H

struct image {
	const char *name;     /* displayed name: "libc.so.6", "[vdso]", "[kernel]" */
	const char *path;     /* path in the root of a process that maps it; NULL: unknown */
	const char *build_id; /* hexadecimal digits; NULL: unknown */
};

#endif
