/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * MiniDebugInfo: the section .gnu_debugdata holds, packed with xz, an ELF file with the symbols
 * that .dynsym lacks (Fedora puts it into everything).
 */
#ifndef MINIDEBUG_H
#define MINIDEBUG_H

#include <stddef.h>

#include "elf/elffile.h"

/*
 * Returns the unpacked file, freed with free(); NULL with errno set: ENOENT without such a section,
 * EINVAL if it is broken, EFBIG if it unpacks to more than 64 MiB.
 */
void *minidebug_read(const struct elffile *f, size_t *size);

#endif
