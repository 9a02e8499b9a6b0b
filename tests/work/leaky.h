/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Numbers and sizes of the blocks that leaky allocates: mostly primes, so that all totals differ.
 */
#ifndef LEAKY_H
#define LEAKY_H

#define MALLOC_COUNT   101
#define MALLOC_BYTES   37
#define CALLOC_COUNT   103
#define CALLOC_N       3
#define CALLOC_BYTES   41
#define REALLOC_COUNT  107
#define REALLOC_BYTES  1009
#define MEMALIGN_COUNT 109
#define MEMALIGN_BYTES 71
#define ALIGNED_COUNT  113
#define ALIGNED_BYTES  256
#define MMAP_COUNT     7
#define MMAP_BYTES     8192
#define STRDUP_COUNT   127
#define STRDUP_BYTES   26
#define BIG_COUNT      3
#define BIG_BYTES      1000003

#define FAILED_COUNT 131
#define FAILED_BYTES 137

#define MANY_BYTES 24

#define THREAD_ROUNDS 20000
#define THREAD_LEAKS  20
#define THREAD_BYTES  149

#define CHILD_COUNT   151
#define CHILD_BYTES   157
#define CHILD_LIFE_MS 500

#define GROW_BYTES     163
#define PROGRAM_BLOCKS "60"

#define HANDED_BYTES 29
#define HANDED_MOVED 5003

#define STEADY_BYTES 31
#define STEADY_MOVED 3001
#define STEADY_AGE   97

#define AREA_PAGES 4096

#define COPY_BLOCKS 10
#define COPY_BYTES  523

#define NEW_COUNT    167
#define NEW_BYTES    53
#define VECTOR_COUNT 13
#define VECTOR_INTS  1013

#endif
