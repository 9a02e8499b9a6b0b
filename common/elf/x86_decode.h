/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Decodes one x86-64 instruction (Intel SDM, volume 2, chapter 2): enough to skip nearly all
 * instructions that compilers emit, and to understand the simple ones. Any bytes are safe.
 */
#ifndef X86_DECODE_H
#define X86_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum x86_prefix {
	X86_PREFIX_66 = 1 << 0,
	X86_PREFIX_67 = 1 << 1,
	X86_PREFIX_F2 = 1 << 2,
	X86_PREFIX_F3 = 1 << 3,
	X86_PREFIX_LOCK = 1 << 4,
	X86_PREFIX_SEGMENT = 1 << 5,
};

enum x86_map {
	X86_MAP_ONE, /* opcodes of one byte */
	X86_MAP_0F,
	X86_MAP_0F38,
	X86_MAP_0F3A,
};

struct x86_insn {
	size_t bytes; /* length of the instruction */
	unsigned int prefixes;
	uint8_t rex; /* 0x40 to 0x4f; 0: none */
	bool is_vex; /* VEX or EVEX encoding, not a legacy opcode */
	enum x86_map map;
	uint8_t opcode;
	bool has_modrm;
	uint8_t modrm;
	size_t modrm_at;  /* offset of the ModRM byte */
	int32_t relative; /* distance of a relative jump or call, from the end of the instruction */
	bool is_relative;
};

/* Decodes the instruction at code. False: unknown or truncated. */
bool x86_decode(struct x86_insn *insn, const uint8_t *code, size_t size);

/*
 * Return the fields of the ModRM byte, extended by REX: the register operand, and the other operand
 * if it is a register.
 */
uint8_t x86_reg(const struct x86_insn *insn);
uint8_t x86_rm(const struct x86_insn *insn);
bool x86_rm_is_memory(const struct x86_insn *insn);

/* Returns true for a near call, direct or by a register or memory. */
bool x86_is_call(const struct x86_insn *insn);

/* Returns true for instructions that never fall through: jumps, returns, hlt, int3, ud2. */
bool x86_ends_path(const struct x86_insn *insn);

/* Returns true for nops, which pad code. */
bool x86_is_nop(const struct x86_insn *insn);

#endif
