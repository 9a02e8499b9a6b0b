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

#define FUZZ(bytes, size)                                              \
	int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size); \
	int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)

#endif
