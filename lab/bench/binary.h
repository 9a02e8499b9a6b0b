/* SPDX-License-Identifier: GPL-2.0-only */
/* The size of a tool's file on disk. */
#ifndef BINARY_H
#define BINARY_H

#include <stdbool.h>

/* KiB of the file when stripped, or NAN. *is_dynamic: it needs shared libraries besides. */
double binary_size_kb(const char *path, bool *is_dynamic);

#endif
