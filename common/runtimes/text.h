/* SPDX-License-Identifier: GPL-2.0-only */
/* Texts of managed runtimes. */
#ifndef RUNTIMES_TEXT_H
#define RUNTIMES_TEXT_H

#include <stddef.h>
#include <stdint.h>

/*
 * Converts n characters of `bytes` bytes each (1: Latin-1, 2 or 4: Unicode) to UTF-8: surrogates
 * and invalid characters become '?', characters 0 are left out. Freed with free().
 */
char *runtime_text_decode(const uint8_t *text, size_t n, uint32_t bytes);

#endif
