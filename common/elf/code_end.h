/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Follows code by decoding its instructions: to the end of a function whose symbol has no size, as
 * in hand-written assembly, or to its first jump. machine: EM_X86_64 or EM_AARCH64.
 */
#ifndef CODE_END_H
#define CODE_END_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Maximum size that is worth passing to code_end(). */
#define CODE_END_MAX_BYTES 4096

/*
 * Returns how many of a function's first `size` bytes certainly belong to it: up to the end of an
 * instruction that never falls through, such as a return or a jump, and that no earlier branch
 * jumps over. Stops before instructions that it can't decode; returns at least 1. Other
 * machines yield 1.
 */
size_t code_end(const uint8_t *code, size_t size, uint16_t machine);

/* The end of a path that takes no conditional branch. */
struct code_path {
	int64_t jump;	/* offset of the target of the direct jump that ends it; 0: none */
	bool is_return; /* a return ends it */
};

/* Follows the path from the first byte on, up to size. */
struct code_path code_path(const uint8_t *code, size_t size, uint16_t machine);

#endif
