/* SPDX-License-Identifier: GPL-2.0-only */
/* Unpacks .xz files (the .xz file format 1.1.0). */
#ifndef UNXZ_H
#define UNXZ_H

#include <stddef.h>

/*
 * Returns the unpacked bytes, freed with free(). NULL with errno set: EINVAL if the input is
 * broken, EFBIG if the output would exceed 64 MiB, ENOMEM.
 */
void *unxz(const void *packed, size_t packed_bytes, size_t *size);

#endif
