/* SPDX-License-Identifier: GPL-2.0-only */
/* Packed data that a binary carries: its BPF objects, see bpf/skeleton. */
#ifndef UNPACK_H
#define UNPACK_H

#include <stddef.h>

/*
 * Unpacks what gzip has packed; *bytes is set to its size. The memory is never freed. Broken
 * data ends the process: it is a part of the program.
 */
void *unpack(const unsigned char *packed, size_t packed_bytes, size_t *bytes);

#endif
