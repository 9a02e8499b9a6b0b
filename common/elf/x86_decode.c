// SPDX-License-Identifier: GPL-2.0-only
/*
 * Instruction lengths of x86-64, from the opcode maps (Intel SDM, volume 2, appendix A). A map has
 * one letter per opcode, which denotes the bytes after the opcode. Opcodes that 64-bit mode lacks,
 * AMD's XOP and APX are not decoded.
 */
#include <string.h>

#include "elf/x86_decode.h"

#define INSN_MAX_BYTES 15

/*
 * -: nothing, m: ModRM, b: one byte, w: two bytes, z: four (two with a 66 prefix), v: eight with
 * REX.W, else as z, o: an address, e: ENTER's, j: four-byte relative target, s: one-byte relative
 * target, B Z: ModRM and b or z, f F: ModRM, and b or z for TEST, p: ModRM that must be POP's, x:
 * unknown.
 */
static const char map_one[] = "mmmmbzxxmmmmbzxx"  /* 00 */
			      "mmmmbzxxmmmmbzxx"  /* 10 */
			      "mmmmbzxxmmmmbzxx"  /* 20 */
			      "mmmmbzxxmmmmbzxx"  /* 30 */
			      "xxxxxxxxxxxxxxxx"  /* 40 */
			      "----------------"  /* 50 */
			      "xxxmxxxxzZbB----"  /* 60 */
			      "ssssssssssssssss"  /* 70 */
			      "BZxBmmmmmmmmmmmp"  /* 80 */
			      "----------x-----"  /* 90 */
			      "oooo----bz------"  /* a0 */
			      "bbbbbbbbvvvvvvvv"  /* b0 */
			      "BBw-xxBZe-w--bx-"  /* c0 */
			      "mmmmxxx-mmmmmmmm"  /* d0 */
			      "ssssbbbbjjxs----"  /* e0 */
			      "x-xx--fF------mm"; /* f0 */

static const char map_0f[] = "mmmmx-----x-xm-x"	 /* 00 */
			     "mmmmmmmmmmmmmmmm"	 /* 10 */
			     "mmmmxxxxmmmmmmmm"	 /* 20 */
			     "------x-xxxxxxxx"	 /* 30 */
			     "mmmmmmmmmmmmmmmm"	 /* 40 */
			     "mmmmmmmmmmmmmmmm"	 /* 50 */
			     "mmmmmmmmmmmmmmmm"	 /* 60 */
			     "BBBBmmm-mmmmmmmm"	 /* 70 */
			     "jjjjjjjjjjjjjjjj"	 /* 80 */
			     "mmmmmmmmmmmmmmmm"	 /* 90 */
			     "---mBmxx---mBmmm"	 /* a0 */
			     "mmmmmmmmmmBmmmmm"	 /* b0 */
			     "mmBmBBBm--------"	 /* c0 */
			     "mmmmmmmmmmmmmmmm"	 /* d0 */
			     "mmmmmmmmmmmmmmmm"	 /* e0 */
			     "mmmmmmmmmmmmmmmm"; /* f0 */

struct cursor {
	const uint8_t *code;
	size_t at, size;
	bool is_short; /* the instruction exceeds the bytes given */
};

static uint8_t peek_byte(const struct cursor *c)
{
	return c->at < c->size ? c->code[c->at] : 0;
}

static uint8_t take_byte(struct cursor *c)
{
	uint8_t byte = peek_byte(c);

	c->is_short |= c->at >= c->size;
	c->at++;
	return byte;
}

static unsigned int prefix_of(uint8_t byte)
{
	switch (byte) {
	case 0x66:
		return X86_PREFIX_66;
	case 0x67:
		return X86_PREFIX_67;
	case 0xf2:
		return X86_PREFIX_F2;
	case 0xf3:
		return X86_PREFIX_F3;
	case 0xf0:
		return X86_PREFIX_LOCK;
	case 0x26:
	case 0x2e:
	case 0x36:
	case 0x3e:
	case 0x64:
	case 0x65:
		return X86_PREFIX_SEGMENT;
	default:
		return 0;
	}
}

static void take_prefixes(struct cursor *c, struct x86_insn *insn)
{
	unsigned int prefix;

	while (c->at < c->size && (prefix = prefix_of(c->code[c->at]))) {
		insn->prefixes |= prefix;
		c->at++;
	}
	if ((peek_byte(c) & 0xf0) == 0x40)
		insn->rex = take_byte(c);
}

/* Decodes VEX and EVEX, which encode the opcode map in a few bits; accepts legacy maps only. */
static bool take_vex(struct cursor *c, struct x86_insn *insn, uint8_t first)
{
	uint8_t map = 1;

	insn->is_vex = true;
	if (first == 0xc5) {
		take_byte(c);
	} else {
		map = take_byte(c) & (first == 0x62 ? 7 : 31);
		take_byte(c);
	}
	if (first == 0x62)
		take_byte(c);
	insn->map = (enum x86_map)map;
	insn->opcode = take_byte(c);
	return map >= X86_MAP_0F && map <= X86_MAP_0F3A;
}

static bool take_opcode(struct cursor *c, struct x86_insn *insn)
{
	uint8_t byte = take_byte(c);

	if (byte == 0xc4 || byte == 0xc5 || byte == 0x62)
		return !insn->rex && take_vex(c, insn, byte);
	insn->map = X86_MAP_ONE;
	if (byte == 0x0f) {
		byte = take_byte(c);
		insn->map = X86_MAP_0F;
		if (byte == 0x38 || byte == 0x3a) {
			insn->map = byte == 0x38 ? X86_MAP_0F38 : X86_MAP_0F3A;
			byte = take_byte(c);
		}
	}
	insn->opcode = byte;
	return true;
}

static char layout_of(const struct x86_insn *insn)
{
	switch (insn->map) {
	case X86_MAP_ONE:
		return map_one[insn->opcode];
	case X86_MAP_0F:
		return map_0f[insn->opcode];
	case X86_MAP_0F38:
		return 'm';
	case X86_MAP_0F3A:
		return 'B';
	}
	return 'x';
}

static void take_modrm(struct cursor *c, struct x86_insn *insn)
{
	uint8_t modrm = take_byte(c), mod = modrm >> 6, base = modrm & 7;

	insn->has_modrm = true;
	insn->modrm_at = c->at - 1;
	insn->modrm = modrm;
	if (mod == 3)
		return;
	if (base == 4)
		base = take_byte(c) & 7; /* SIB */
	if (mod == 1)
		c->at += 1;
	else if (mod == 2 || base == 5)
		c->at += 4;
}

static size_t word_bytes(const struct x86_insn *insn)
{
	return insn->prefixes & X86_PREFIX_66 && !(insn->rex & 8) ? 2 : 4;
}

static bool is_test(const struct x86_insn *insn)
{
	return (insn->modrm >> 3 & 7) < 2;
}

/* Returns the length of the immediate operand; SIZE_MAX: unknown opcode. */
static size_t immediate_bytes(const struct x86_insn *insn, char layout)
{
	switch (layout) {
	case '-':
	case 'm':
		return 0;
	case 'b':
	case 'B':
	case 's':
		return 1;
	case 'w':
		return 2;
	case 'e':
		return 3;
	case 'j':
		return 4;
	case 'z':
	case 'Z':
		return word_bytes(insn);
	case 'v':
		return insn->rex & 8 ? 8 : word_bytes(insn);
	case 'o':
		return insn->prefixes & X86_PREFIX_67 ? 4 : 8;
	case 'f':
		return is_test(insn) ? 1 : 0;
	case 'F':
		return is_test(insn) ? word_bytes(insn) : 0;
	case 'p':
		return insn->modrm >> 3 & 7 ? SIZE_MAX : 0;
	default:
		return SIZE_MAX;
	}
}

static void read_relative(struct x86_insn *insn, const uint8_t *end, char layout)
{
	insn->is_relative = layout == 'j' || layout == 's';
	if (layout == 'j')
		memcpy(&insn->relative, end - 4, 4); /* little-endian, as every x86 */
	else if (layout == 's')
		insn->relative = end[-1] < 0x80 ? end[-1] : end[-1] - 0x100;
}

/* Returns true for a branch with only a 66 prefix: AMD and Intel differ in its length. */
static bool is_ambiguous(const struct x86_insn *insn, char layout)
{
	return layout == 'j' && insn->prefixes & X86_PREFIX_66 && !(insn->rex & 8);
}

bool x86_decode(struct x86_insn *insn, const uint8_t *code, size_t size)
{
	struct cursor c = { .code = code, .size = size < INSN_MAX_BYTES ? size : INSN_MAX_BYTES };
	size_t immediate;
	char layout;

	memset(insn, 0, sizeof(*insn));
	take_prefixes(&c, insn);
	if (!take_opcode(&c, insn))
		return false;
	layout = layout_of(insn);
	if (strchr("mBZfFp", layout))
		take_modrm(&c, insn);
	immediate = immediate_bytes(insn, layout);
	if (immediate == SIZE_MAX || is_ambiguous(insn, layout))
		return false;
	c.at += immediate;
	if (c.is_short || c.at > c.size)
		return false;
	insn->bytes = c.at;
	read_relative(insn, code + c.at, layout);
	return true;
}

uint8_t x86_reg(const struct x86_insn *insn)
{
	return (insn->modrm >> 3 & 7) | (insn->rex & 4 ? 8 : 0);
}

uint8_t x86_rm(const struct x86_insn *insn)
{
	return (insn->modrm & 7) | (insn->rex & 1 ? 8 : 0);
}

bool x86_rm_is_memory(const struct x86_insn *insn)
{
	return insn->modrm >> 6 != 3;
}

bool x86_is_call(const struct x86_insn *insn)
{
	return insn->map == X86_MAP_ONE &&
	       (insn->opcode == 0xe8 || (insn->opcode == 0xff && (insn->modrm >> 3 & 7) == 2));
}

bool x86_ends_path(const struct x86_insn *insn)
{
	if (insn->is_vex || insn->map != X86_MAP_ONE)
		return !insn->is_vex && insn->map == X86_MAP_0F && insn->opcode == 0x0b; /* ud2 */
	switch (insn->opcode) {
	case 0xc2: /* ret */
	case 0xc3:
	case 0xcc: /* int3 */
	case 0xe9: /* jmp */
	case 0xeb:
	case 0xf4: /* hlt */
		return true;
	default: /* jmp through a register or memory */
		return insn->opcode == 0xff && (insn->modrm >> 3 & 7) == 4;
	}
}

bool x86_is_nop(const struct x86_insn *insn)
{
	if (insn->map == X86_MAP_ONE) /* not "pause" */
		return insn->opcode == 0x90 && !(insn->prefixes & X86_PREFIX_F3);
	return insn->map == X86_MAP_0F && !insn->is_vex && insn->opcode == 0x1f;
}
