// SPDX-License-Identifier: GPL-2.0-only
/*
 * Effects of x86-64's instructions, and the kernel's handling of a probe on each; see
 * probe_machine.h. Only opcodes that compilers put before the first push or branch of a function
 * are known.
 *
 * Emulated instructions are from arch/x86/kernel/uprobes.c, and measured (lab/probes/cost).
 */
#include <string.h>

#include "elf/x86_decode.h"
#include "probes/probe_machine.h"

enum {
	REG_AX = 0,
	REG_DX = 2,
	REG_SP = 4,
};

/* ---- effects ---- */

/* Returns the register of a byte operand: without REX, 4 to 7 are AH, CH, DH and BH. */
static uint8_t byte_register(const struct x86_insn *insn, uint8_t reg)
{
	return insn->rex || reg < 4 ? reg : reg - 4;
}

static bool writes_reg(struct probe_effect *e, const struct x86_insn *insn, bool is_byte)
{
	uint8_t reg = x86_reg(insn);

	e->writes |= 1u << (is_byte ? byte_register(insn, reg) : reg);
	return true;
}

/*
 * Notes a write. False for memory, which skipped instructions must not write. So the red zone is
 * still unused: kernels since 6.18 turn a 5-byte nop into a call, which overwrites 8 bytes of it.
 */
static bool writes_rm(struct probe_effect *e, const struct x86_insn *insn, bool is_byte)
{
	uint8_t rm = x86_rm(insn);

	e->writes |= 1u << (is_byte ? byte_register(insn, rm) : rm);
	return !x86_rm_is_memory(insn);
}

static bool writes_regs(struct probe_effect *e, unsigned int regs)
{
	e->writes |= regs;
	return true;
}

static void note_copy(struct probe_effect *e, const struct x86_insn *insn, uint8_t from, uint8_t to)
{
	if (!(insn->rex & 8) || x86_rm_is_memory(insn))
		return;
	e->copied_from = from;
	e->copied_to = to;
}

/* Decodes ADD, OR, ADC, SBB, AND, SUB, XOR and CMP in their six forms. */
static bool read_arithmetic(struct probe_effect *e, const struct x86_insn *insn)
{
	bool is_byte = !(insn->opcode & 1);

	if ((insn->opcode & 0x38) == 0x38)
		return true;
	switch (insn->opcode & 7) {
	case 0:
	case 1:
		return writes_rm(e, insn, is_byte);
	case 2:
	case 3:
		return writes_reg(e, insn, is_byte);
	default:
		return writes_regs(e, 1u << REG_AX);
	}
}

/* Decodes TEST, NOT, NEG, MUL and IMUL; refuses divisions, which can fault. */
static bool read_group_3(struct probe_effect *e, const struct x86_insn *insn)
{
	unsigned int operation = insn->modrm >> 3 & 7;

	if (operation < 2)
		return true;
	if (operation < 4)
		return writes_rm(e, insn, insn->opcode == 0xf6);
	return operation < 6 && writes_regs(e, 1u << REG_AX | 1u << REG_DX);
}

static bool read_move(struct probe_effect *e, const struct x86_insn *insn)
{
	if (insn->opcode == 0x89)
		note_copy(e, insn, x86_reg(insn), x86_rm(insn));
	if (insn->opcode == 0x8b)
		note_copy(e, insn, x86_rm(insn), x86_reg(insn));
	return insn->opcode < 0x8a ? writes_rm(e, insn, insn->opcode == 0x88)
				   : writes_reg(e, insn, insn->opcode == 0x8a);
}

static bool read_immediate_move(struct probe_effect *e, const struct x86_insn *insn)
{
	uint8_t reg = (insn->opcode & 7) | (insn->rex & 1 ? 8 : 0);

	return writes_regs(e, 1u << (insn->opcode < 0xb8 ? byte_register(insn, reg) : reg));
}

static bool read_one(struct probe_effect *e, const struct x86_insn *insn)
{
	unsigned int operation = insn->modrm >> 3 & 7;

	if (insn->opcode < 0x40)
		return read_arithmetic(e, insn);
	switch (insn->opcode) {
	case 0x63: /* MOVSXD */
	case 0x69: /* IMUL */
	case 0x6b:
		return writes_reg(e, insn, false);
	case 0x80 ... 0x83:
		return operation == 7 || writes_rm(e, insn, insn->opcode == 0x80);
	case 0x84: /* TEST */
	case 0x85:
	case 0xa8:
	case 0xa9:
		return true;
	case 0x88 ... 0x8b:
		return read_move(e, insn);
	case 0x8d: /* LEA */
		return writes_reg(e, insn, false);
	case 0x90: /* NOP; with REX it is XCHG */
		return !insn->rex;
	case 0x98: /* CDQE */
		return writes_regs(e, 1u << REG_AX);
	case 0x99: /* CQO */
		return writes_regs(e, 1u << REG_DX);
	case 0xb0 ... 0xbf:
		return read_immediate_move(e, insn);
	case 0xc0: /* shifts */
	case 0xc1:
	case 0xd0 ... 0xd3:
		return writes_rm(e, insn, !(insn->opcode & 1));
	case 0xc6: /* MOV */
	case 0xc7:
		return !operation && writes_rm(e, insn, insn->opcode == 0xc6);
	case 0xf6:
	case 0xf7:
		return read_group_3(e, insn);
	case 0xfe: /* INC, DEC */
	case 0xff:
		return operation < 2 && writes_rm(e, insn, insn->opcode == 0xfe);
	default:
		return false;
	}
}

static bool read_0f(struct probe_effect *e, const struct x86_insn *insn)
{
	switch (insn->opcode) {
	case 0x1e: /* ENDBR64; other forms, such as RDSSP, are not accepted */
		return insn->prefixes == X86_PREFIX_F3 && insn->modrm == 0xfa;
	case 0x1f: /* NOP */
		return true;
	case 0x40 ... 0x4f: /* CMOVcc */
	case 0xaf:	    /* IMUL */
	case 0xb6:	    /* MOVZX, MOVSX */
	case 0xb7:
	case 0xbe:
	case 0xbf:
		return writes_reg(e, insn, false);
	case 0x90 ... 0x9f: /* SETcc */
		return writes_rm(e, insn, true);
	case 0xa3: /* BT */
		return true;
	default:
		return false;
	}
}

/* Finds an instruction's effect. False: unknown, or must not be skipped. */
static bool read_effect(struct probe_effect *e, const struct x86_insn *insn)
{
	unsigned int odd = X86_PREFIX_67 | X86_PREFIX_F2 | X86_PREFIX_F3 | X86_PREFIX_LOCK;

	*e = (struct probe_effect){ .copied_from = -1 };
	if (insn->is_vex || insn->map > X86_MAP_0F)
		return false;
	if (insn->map == X86_MAP_0F)
		return (!(insn->prefixes & odd) || insn->opcode == 0x1e) && read_0f(e, insn);
	return !(insn->prefixes & odd) && read_one(e, insn);
}

/* ---- how the kernel handles a probe ---- */

static bool is_emulated_branch(const struct x86_insn *insn)
{
	if (insn->map == X86_MAP_0F)
		return insn->opcode >= 0x80 && insn->opcode <= 0x8f;
	return (insn->opcode >= 0x70 && insn->opcode <= 0x7f) || insn->opcode == 0xe8 ||
	       insn->opcode == 0xe9 || insn->opcode == 0xeb;
}

/* Returns true for emulated pushes; a REX prefix may only select r8 to r15. */
static bool is_emulated_push(const struct x86_insn *insn)
{
	return insn->opcode >= 0x50 && insn->opcode <= 0x57 && !insn->prefixes &&
	       (!insn->rex || insn->rex == 0x41);
}

static enum probe_kind kind_of(const struct x86_insn *insn)
{
	unsigned int odd = ~(unsigned int)(X86_PREFIX_66 | X86_PREFIX_SEGMENT);

	if (insn->is_vex || insn->map > X86_MAP_0F)
		return PROBE_STEP;
	if (insn->is_relative)
		return !insn->prefixes && is_emulated_branch(insn) ? PROBE_BRANCH : PROBE_STEP;
	if (insn->map == X86_MAP_0F)
		return insn->opcode == 0x1f && !(insn->prefixes & odd) ? PROBE_LATE_NOP
								       : PROBE_STEP;
	if (insn->opcode == 0x90 && !insn->rex && !insn->prefixes)
		return PROBE_NOP;
	return is_emulated_push(insn) ? PROBE_PUSH : PROBE_STEP;
}

/* ---- jumps back ---- */

static bool is_long_jump(const uint8_t *code, size_t left)
{
	return code[0] == 0xe8 || code[0] == 0xe9 ||
	       (left > 1 && code[0] == 0x0f && (code[1] & 0xf0) == 0x80);
}

/* Notes the jumps that may begin at a byte: long ones always, short ones if decoding has failed. */
static void scan_byte(size_t *limit, const uint8_t *code, size_t at, size_t size, bool is_lost)
{
	size_t left = size - at, opcode_bytes = code[at] == 0x0f ? 2 : 1;
	bool is_short = (code[at] & 0xf0) == 0x70 || code[at] == 0xeb ||
			(code[at] >= 0xe0 && code[at] <= 0xe3);
	int32_t relative;

	if (is_long_jump(code + at, left) && left >= opcode_bytes + 4) {
		memcpy(&relative, code + at + opcode_bytes, 4);
		probe_note_target(limit, at + opcode_bytes + 4, relative);
	}
	if (is_lost && is_short && left >= 2)
		probe_note_target(limit, at + 2, (int8_t)code[at + 1]);
}

/* Returns the offset at which the entry's first loop begins. */
static size_t find_limit(const uint8_t *code, size_t size)
{
	size_t limit = PROBE_MAX_OFFSET, next = 0;
	bool is_lost = false;

	for (size_t at = 0; at < size; at++) {
		struct x86_insn insn;

		if (at == next && !is_lost) {
			is_lost = !x86_decode(&insn, code + at, size - at);
			next = is_lost ? size : at + insn.bytes;
			if (!is_lost && insn.is_relative)
				probe_note_target(&limit, next, insn.relative);
		}
		scan_byte(&limit, code, at, size, is_lost);
	}
	return limit;
}

static bool read_step(struct probe_step *step, const uint8_t *code, size_t size)
{
	struct x86_insn insn;

	if (!x86_decode(&insn, code, size))
		return false;
	step->bytes = insn.bytes;
	step->kind = kind_of(&insn);
	/* never true for branches and pushes */
	step->is_skippable = read_effect(&step->effect, &insn);
	return true;
}

/* System V ABI: rdi, rsi, rdx, rcx, r8, r9. After a call, rsp points at the return address. */
const struct probe_machine probe_machine_x86 = {
	.args = { 7, 6, 2, 1, 8, 9 },
	.return_regs = 1u << REG_SP,
	.read = read_step,
	.find_limit = find_limit,
};
