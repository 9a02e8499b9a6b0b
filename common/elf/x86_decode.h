/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The parts of one x86-64 instruction (Intel SDM, volume 2, chapter 2): enough to step over nearly
 * all that compilers emit, and to understand the simple ones. Any bytes are safe.
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
	size_t bytes; /* of all of it */
	unsigned int prefixes;
	uint8_t rex; /* 0x40 to 0x4f; 0: none */
	bool is_vex; /* VEX or EVEX: not one of the simple ones */
	enum x86_map map;
	uint8_t opcode;
	bool has_modrm;
	uint8_t modrm;
	size_t modrm_at;  /* its offset */
	int32_t relative; /* of a relative jump or call: from the end of the instruction */
	bool is_relative;
};

/* Decodes the instruction at code. False: it is unknown, or not all of it is there. */
bool x86_decode(struct x86_insn *insn, const uint8_t *code, size_t size);

/*
 * Returns the fields of the ModRM byte with REX taken in: the register operand, and the other one
 * if it is a register.
 */
uint8_t x86_reg(const struct x86_insn *insn);
uint8_t x86_rm(const struct x86_insn *insn);
bool x86_rm_is_memory(const struct x86_insn *insn);

#endif
