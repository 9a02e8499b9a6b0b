/* SPDX-License-Identifier: GPL-2.0-only */
/* Unpacks .xz files (the .xz file format 1.1.0). */
#ifndef UNXZ_H
#define UNXZ_H

#include <stddef.h>

/*
 * Returns the unpacked bytes, freed with free(); NULL with errno set: EINVAL if they are broken,
 * EFBIG if they would be more than 64 MiB.
 */
void *unxz(const void *packed, size_t packed_bytes, size_t *size);

#endif
