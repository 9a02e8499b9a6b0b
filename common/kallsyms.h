/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The few lines of /proc/kallsyms that tell the symbols of given addresses: from the file, or from a
 * copy of it, since the kernel takes 200 ns to write out each of 10^5 lines.
 */
#ifndef KALLSYMS_H
#define KALLSYMS_H

#include <stddef.h>
#include <stdint.h>

struct kallsyms_copy;

/* All lines, in a quarter of the file's size. NULL with errno set. */
struct kallsyms_copy *kallsyms_copy(const char *path);
void kallsyms_free(struct kallsyms_copy *copy);

/* What it takes. */
size_t kallsyms_bytes(const struct kallsyms_copy *copy);

/*
 * Looks at it line by line and keeps, for each of n addresses (ascending, no two equal), the
 * lines with the nearest symbols at or below it and above it, all that share an address: enough
 * for ksyms to find what it would find in the whole, in 1 % of the memory. Terminated text, freed
 * with free(), of *size bytes; NULL with errno set. Where every address in the file is zero, one
 * such line.
 */
char *kallsyms_around(const char *path, const uint64_t *addrs, size_t n, size_t *size);
char *kallsyms_copied(const struct kallsyms_copy *copy, const uint64_t *addrs, size_t n,
		      size_t *size);

#endif
