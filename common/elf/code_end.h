/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finds the end of a function whose symbol has no size, as in hand-written assembly, by decoding
 * its instructions.
 */
#ifndef CODE_END_H
#define CODE_END_H

#include <stddef.h>
#include <stdint.h>

/* Maximum size that is worth passing to code_end(). */
#define CODE_END_MAX_BYTES 4096

/*
 * Returns how many of a function's first `size` bytes certainly belong to it: up to the end of an
 * instruction that never falls through, such as a return or a jump, and that no earlier branch
 * jumps over. Stops before instructions that it can't decode; returns at least 1. machine:
 * EM_X86_64 or EM_AARCH64; others yield 1.
 */
size_t code_end(const uint8_t *code, size_t size, uint16_t machine);

#endif
