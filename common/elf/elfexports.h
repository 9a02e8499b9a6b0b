/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finds exported symbols of an ELF file by name. The GNU hash table (.gnu.hash) rules out absent
 * names at once, so that many files can be searched.
 */
#ifndef ELFEXPORTS_H
#define ELFEXPORTS_H

#include <stddef.h>
#include <stdint.h>

#include "elf/elf64.h"

/* Finds the addresses of n symbols. 0; -ENOENT: a symbol isn't exported, or broken tables. */
int elfexports_find(const struct elf64 *elf, const char *const *names, size_t n, uint64_t *vaddrs);

/* Finds one symbol, with its size. 0 or -ENOENT, as elfexports_find(). */
int elfexports_find_symbol(const struct elf64 *elf, const char *name, Elf64_Sym *symbol);

#endif
