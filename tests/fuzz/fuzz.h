/* SPDX-License-Identifier: GPL-2.0-only */
/* One per fuzzer: FUZZ(bytes, size) { ...; return 0; } is called for each input. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/mem.h"

/*
 * Places the bytes in n words, a power of 2, as memory of a traced process. A word with bit 0 set
 * becomes a pointer to one of the words, with the bits of tag(word) set; tag NULL: none.
 */
static inline void fuzz_place(uint64_t *words, size_t n, const uint8_t *bytes, size_t size,
			      uint64_t (*tag)(uint64_t word))
{
	size_t all = n * sizeof(*words);

	memset(words, 0, all);
	memcpy(words, bytes, size < all ? size : all);
	for (size_t i = 0; i < n; i++)
		if (words[i] & 1)
			words[i] = (uintptr_t)&words[words[i] >> 8 & (n - 1)] |
				   (tag ? tag(words[i]) : 0);
}

#define FUZZ(bytes, size)                                              \
	int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size); \
	int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)

#endif
