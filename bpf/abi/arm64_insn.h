/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Decodes arm64 instructions: branches, and those that move the stack pointer (Arm Architecture
 * Reference Manual, C4.1).
 */
#ifndef ABI_ARM64_INSN_H
#define ABI_ARM64_INSN_H

#include "abi/types.h"

#define ARM64_INLINE static inline __attribute__((always_inline))

#define ARM64_INSN_BYTES 4
#define ARM64_NOP	 0xd503201fU

/* Returns a signed field, given its lowest bit and its number of bits. */
ARM64_INLINE __s32 arm64_signed_field(__u32 word, __u32 at, __u32 bits)
{
	return (__s32)(word << (32 - at - bits)) >> (32 - bits);
}

ARM64_INLINE bool arm64_is_direct_call(__u32 word)
{
	return (word & 0xfc000000U) == 0x94000000U; /* bl */
}

/* Returns true for br and its variants. */
ARM64_INLINE bool arm64_is_jump_to_register(__u32 word)
{
	return (word & 0xfe7ff000U) == 0xd61f0000U;
}

/* Returns true for ret and its variants. */
ARM64_INLINE bool arm64_is_return(__u32 word)
{
	return (word & 0xfe7ff000U) == 0xd65f0000U;
}

/* Returns true for bl, blr and their variants. */
ARM64_INLINE bool arm64_is_call(__u32 word)
{
	return arm64_is_direct_call(word) || (word & 0xfe7ff000U) == 0xd63f0000U;
}

/* Returns true for instructions that never fall through: b, br, ret, udf, brk, hlt, dcps1. */
ARM64_INLINE bool arm64_ends_path(__u32 word)
{
	return (word & 0xfc000000U) == 0x14000000U || (word & 0xfe3ff000U) == 0xd61f0000U ||
	       word < 0x10000U || word - 0xd4200000U < 0x00e00000U;
}

/* Returns the distance to a direct branch's or call's target, in instructions; 0: neither. */
ARM64_INLINE __s64 arm64_branch_distance(__u32 word)
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

/* Returns the number that an instruction adds to sp; 0: none, or a register's. */
ARM64_INLINE __s32 arm64_moved_sp(__u32 word)
{
	__s32 n = (word >> 10 & 0xfff) << (word >> 22 & 1 ? 12 : 0);

	if ((word & 0xff8003ffU) == 0x910003ffU) /* add sp, sp, #n */
		return n;
	if ((word & 0xff8003ffU) == 0xd10003ffU) /* sub sp, sp, #n */
		return -n;
	if ((word >> 5 & 31) != 31)
		return 0;
	if ((word & 0xfec00000U) == 0x68800000U) /* stgp with writeback */
		return arm64_signed_field(word, 15, 7) * 16;
	if ((word & 0x3a800000U) == 0x28800000U) /* ldp, stp with writeback */
		return arm64_signed_field(word, 15, 7) *
		       (4 << (word >> 26 & 1 ? word >> 30 : word >> 31));
	if ((word & 0x3b200400U) == 0x38000400U) /* ldr, str with writeback */
		return arm64_signed_field(word, 12, 9);
	return 0;
}

#endif
