/* SPDX-License-Identifier: GPL-2.0-only */
/* Decodes arm64 branches: calls, jumps and returns (Arm Architecture Reference Manual, C4.1). */
#ifndef ARM64_BRANCH_H
#define ARM64_BRANCH_H

#include <stdbool.h>
#include <stdint.h>

#define ARM64_INSN_BYTES 4
#define ARM64_NOP	 0xd503201fU

static inline int64_t arm64_signed_field(uint32_t word, unsigned int at, unsigned int bits)
{
	return (int32_t)(word << (32 - at - bits)) >> (32 - bits);
}

/* Returns true for br, blr, ret and their variants. */
static inline bool arm64_goes_to_register(uint32_t word)
{
	return (word & 0xfe1ff000U) == 0xd61f0000U;
}

static inline bool arm64_is_call(uint32_t word)
{
	return (word & 0xfc000000U) == 0x94000000U ||
	       (arm64_goes_to_register(word) && (word & 0x00600000U) == 0x00200000U);
}

/* Returns true for instructions that never fall through: b, br, ret, udf, brk, dcps1. */
static inline bool arm64_ends_path(uint32_t word)
{
	return (word & 0xfc000000U) == 0x14000000U ||
	       (arm64_goes_to_register(word) && !arm64_is_call(word)) || word < 0x10000U ||
	       (word & 0xffe0001fU) == 0xd4200000U || (word & 0xffe0001fU) == 0xd4a00001U;
}

/* Returns the distance to a direct branch's or call's target, in instructions; 0: neither. */
static inline int64_t arm64_branch_distance(uint32_t word)
{
	if ((word & 0x7c000000U) == 0x14000000U) /* b, bl */
		return arm64_signed_field(word, 0, 26);
	if ((word & 0xff000000U) == 0x54000000U || /* b.cond, bc.cond */
	    (word & 0x7e000000U) == 0x34000000U)   /* cbz, cbnz */
		return arm64_signed_field(word, 5, 19);
	if ((word & 0x7e000000U) == 0x36000000U) /* tbz, tbnz */
		return arm64_signed_field(word, 5, 14);
	return 0;
}

#endif
