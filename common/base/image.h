/* SPDX-License-Identifier: GPL-2.0-only */
/* The file, or named memory region, that contains a code address. */
#ifndef IMAGE_H
#define IMAGE_H

struct image {
	const char *name;     /* for display: "libc.so.6", "[vdso]", "[kernel]" */
	const char *path;     /* in the root directory of a process that maps it; NULL: unknown */
	const char *build_id; /* hexadecimal digits; NULL: unknown */
};

#endif
