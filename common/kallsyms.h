/* SPDX-License-Identifier: GPL-2.0-only */
/* The few lines of /proc/kallsyms that tell the symbols of given addresses. */
#ifndef KALLSYMS_H
#define KALLSYMS_H

#include <stddef.h>
#include <stdint.h>

/*
 * Reads the file line by line and keeps, for each of n addresses (ascending, no two equal), the
 * lines with the nearest symbols at or below it and above it, all that share an address: enough
 * for ksyms to find what it would find in the whole, in 1 % of the memory. Terminated text, freed
 * with free(), of *size bytes; NULL with errno set. Where every address in the file is zero, one
 * such line.
 */
char *kallsyms_around(const char *path, const uint64_t *addrs, size_t n, size_t *size);

#endif
