/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finds how much code belongs to a function whose symbol has no size, as in hand-written assembly,
 * by decoding its instructions.
 */
#ifndef CODE_END_H
#define CODE_END_H

#include <stddef.h>
#include <stdint.h>

/* More is never looked at. */
#define CODE_END_MAX_BYTES 4096

/*
 * Returns how many of these bytes, the function's first ones, certainly belong to it: up to an
 * instruction that never falls through, such as a return or a jump, and that no branch before it
 * leads beyond. Fewer if the code is not understood, at least 1. machine: as ELF numbers them;
 * x86-64 and arm64 are known.
 */
size_t code_end(const uint8_t *code, size_t size, uint16_t machine);

#endif
