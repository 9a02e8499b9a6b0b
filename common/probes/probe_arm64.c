// SPDX-License-Identifier: GPL-2.0-only
/*
 * Effects of arm64's instructions, and the kernel's handling of a probe on each; see
 * probe_machine.h. Encodings: Arm Architecture Reference Manual, C4.1. Only instructions that
 * compilers put before the first branch of a function are known.
 *
 * The lists of emulated, single-stepped and refused instructions are from versions of
 * arch/arm64/kernel/probes/decode-insn.c from 5.4 to about 6.17; tests/live/probes_test tries them
 * on the running kernel, and lab/probes/cost shows which are emulated.
 */

#include "base/load.h"
#include "probes/probe_machine.h"

#define INSN_BYTES	4
#define SIGNED(x, bits) ((int32_t)((x) << (32 - (bits))) >> (32 - (bits)))

enum { X30 = 30, SP = 31, ZERO = SP };

/* Numbers of HINT instructions. */
enum {
	HINT_NOP = 0,
	HINT_XPACLRI = 7,
	HINT_PACIA1716 = 8,
	HINT_PACIB1716 = 10,
	HINT_PACIAZ = 24, /* up to PACIBSP: PACIASP, PACIBZ */
	HINT_PACIBSP = 27,
	HINT_BTI = 32, /* also BTI c, BTI j, BTI jc: even numbers */
	HINT_BTI_JC = 38,
};

#define TPIDR_EL0 0x5e82 /* op0 to op2 of MRS: the base of thread-local storage */

static uint32_t field(uint32_t word, unsigned int at, unsigned int bits)
{
	return word >> at & ((1u << bits) - 1);
}

static bool is_in(uint32_t word, uint32_t mask, uint32_t value)
{
	return (word & mask) == value;
}

/* Returns true for branches, exceptions, hints and system registers. */
static bool is_control(uint32_t word)
{
	return is_in(word, 0x1c000000, 0x14000000);
}

static bool is_hint(uint32_t word)
{
	return is_in(word, 0xfffff01f, 0xd503201f);
}

static bool is_bti(uint32_t hint)
{
	return hint >= HINT_BTI && hint <= HINT_BTI_JC && !(hint & 1);
}

/* Returns true for hints that sign x30. */
static bool is_signing(uint32_t hint)
{
	return hint >= HINT_PACIAZ && hint <= HINT_PACIBSP;
}

static bool is_literal(uint32_t word)
{
	return is_in(word, 0x3b000000, 0x18000000);
}

/* ---- branches ---- */

enum branch {
	BRANCH_NONE,
	BRANCH_LONG,	/* b, bl: 26 bits */
	BRANCH_MIDDLE,	/* b.cond, cbz, cbnz: 19 bits */
	BRANCH_SHORT,	/* tbz, tbnz: 14 bits */
	BRANCH_REGISTER /* br, blr, ret, without authentication */
};

static enum branch branch_of(uint32_t word)
{
	if (is_in(word, 0x7c000000, 0x14000000))
		return BRANCH_LONG;
	if (is_in(word, 0xff000010, 0x54000000) || is_in(word, 0x7e000000, 0x34000000))
		return BRANCH_MIDDLE;
	if (is_in(word, 0x7e000000, 0x36000000))
		return BRANCH_SHORT;
	if (is_in(word, 0xff9ffc1f, 0xd61f0000) && field(word, 21, 2) < 3)
		return BRANCH_REGISTER;
	return BRANCH_NONE;
}

/* Finds the distance of a relative branch, in bytes. False: not a relative branch. */
static bool read_distance(uint32_t word, int32_t *distance)
{
	switch (branch_of(word)) {
	case BRANCH_LONG:
		*distance = SIGNED(field(word, 0, 26), 26) * INSN_BYTES;
		return true;
	case BRANCH_MIDDLE:
		*distance = SIGNED(field(word, 5, 19), 19) * INSN_BYTES;
		return true;
	case BRANCH_SHORT:
		*distance = SIGNED(field(word, 5, 14), 14) * INSN_BYTES;
		return true;
	default:
		return false;
	}
}

/*
 * Finds the first loop. Data that looks like a branch hides a location, but never adds a wrong one.
 */
static size_t find_limit(const uint8_t *code, size_t size)
{
	size_t limit = PROBE_MAX_OFFSET;
	int32_t distance;

	for (size_t at = 0; size - at >= INSN_BYTES; at += INSN_BYTES)
		if (read_distance(load_u32(code + at), &distance))
			probe_note_target(&limit, at, distance);
	return limit;
}

/* ---- how the kernel handles a probe ---- */

static enum probe_kind kind_of_hint(uint32_t hint)
{
	bool is_stepped = hint == HINT_XPACLRI || hint == HINT_PACIA1716 ||
			  hint == HINT_PACIB1716 || is_signing(hint) || is_bti(hint);

	if (hint == HINT_NOP)
		return PROBE_LATE_NOP;
	return is_stepped ? PROBE_STEP : PROBE_REFUSED;
}

/*
 * Accepts only instructions known here. The kernel single-steps a copy of any instruction that it
 * does not refuse: an unknown newer branch would jump to a wrong address.
 */
static enum probe_kind kind_of_control(uint32_t word)
{
	bool is_read = is_in(word, 0xfff00000, 0xd5300000);	 /* mrs */
	bool is_barrier = is_in(word, 0xfffff000, 0xd5033000);	 /* and clrex */
	bool is_operation = is_in(word, 0xffd80000, 0xd5080000); /* sys, sysl */

	if (branch_of(word))
		return PROBE_BRANCH;
	if (is_hint(word))
		return kind_of_hint(field(word, 5, 7));
	return is_read || is_barrier || is_operation ? PROBE_STEP : PROBE_REFUSED;
}

/*
 * Refuses exclusive loads, which fail after a trap; parts of a hardware memcpy, which must stay
 * together; and literal loads, which kernels before 6.12 emulate by unprotected reads of user
 * memory.
 */
static enum probe_kind kind_of(uint32_t word)
{
	bool is_exclusive = is_in(word, 0x3f800000, 0x08000000);
	bool is_memcpy = is_in(word, 0x3b200c00, 0x19000400);

	if (is_control(word))
		return kind_of_control(word);
	if (is_in(word, 0x1f000000, 0x10000000))
		return PROBE_ADDRESS;
	return is_literal(word) || is_exclusive || is_memcpy ? PROBE_REFUSED : PROBE_STEP;
}

/* ---- effects ---- */

/* Notes a write. Register 31 is sp if may_be_sp, else the zero register, which discards writes. */
static bool writes_reg(struct probe_effect *e, uint32_t reg, bool may_be_sp)
{
	if (reg != ZERO || may_be_sp)
		e->writes |= 1u << reg;
	return true;
}

static bool read_control(struct probe_effect *e, uint32_t word)
{
	uint32_t hint = field(word, 5, 7);

	if (is_in(word, 0xffffffe0, 0xd5300000 | TPIDR_EL0 << 5))
		return writes_reg(e, field(word, 0, 5), false);
	if (!is_hint(word))
		return false;
	return is_signing(hint) ? writes_reg(e, X30, false) : hint == HINT_NOP || is_bti(hint);
}

/* Decodes data processing with an immediate operand. */
static bool read_immediate(struct probe_effect *e, uint32_t word)
{
	uint32_t operation = field(word, 29, 2), to = field(word, 0, 5);

	switch (field(word, 23, 3)) {
	case 0: /* ADR, ADRP */
	case 1:
	case 5: /* MOVN, MOVZ, MOVK */
	case 6: /* SBFM, BFM, UBFM */
		return writes_reg(e, to, false);
	case 2: /* ADD, ADDS, SUB, SUBS */
		return writes_reg(e, to, !(operation & 1));
	case 4: /* AND, ORR, EOR, ANDS */
		return writes_reg(e, to, operation != 3);
	case 7: /* EXTR */
		return !operation && writes_reg(e, to, false);
	default:
		return false;
	}
}

/*
 * Returns true for operations with one source (CLZ, REV, ..., but not signing), or with two
 * (shifts, and divisions, which don't fault on arm64).
 */
static bool is_plain_arithmetic(uint32_t word)
{
	uint32_t operation = field(word, 10, 6);

	if (field(word, 30, 1))
		return !field(word, 16, 5);
	return operation == 2 || operation == 3 || (operation >= 8 && operation <= 11);
}

static bool read_more_registers(struct probe_effect *e, uint32_t word)
{
	uint32_t operation = field(word, 21, 4), to = field(word, 0, 5);

	switch (operation) {
	case 0: /* ADC, SBC */
		return !field(word, 10, 6) && writes_reg(e, to, false);
	case 2: /* CCMP, CCMN */
		return true;
	case 4: /* CSEL, CSINC, CSINV, CSNEG */
		return writes_reg(e, to, false);
	case 6:
		return is_plain_arithmetic(word) && writes_reg(e, to, false);
	default: /* MADD, UMULH, ... */
		return operation >= 8 && writes_reg(e, to, false);
	}
}

/* Notes a move. A function may return to a copy of x30, so a copy counts as a write of x30. */
static void note_move(struct probe_effect *e, uint32_t from, uint32_t to)
{
	if (from == X30)
		writes_reg(e, X30, false);
	if (from == ZERO || to == ZERO)
		return;
	e->copied_from = (int)from;
	e->copied_to = (int)to;
}

/* Decodes data processing with operands in registers. */
static bool read_registers(struct probe_effect *e, uint32_t word)
{
	bool is_extended = is_in(word, 0x01200000, 0x01200000), sets_flags = field(word, 29, 1);
	uint32_t from = field(word, 16, 5), to = field(word, 0, 5);

	if (field(word, 28, 1))
		return read_more_registers(e, word);
	if (is_in(word, 0xffe0ffe0, 0xaa0003e0))
		note_move(e, from, to);
	return writes_reg(e, to, is_extended && !sets_flags);
}

/* A load or store, of one register or a pair. */
struct access {
	bool is_store, is_vector, is_prefetch;
	bool writes_base;
	uint32_t regs[2];
	unsigned int n_regs;
};

static bool read_pair(struct access *a, uint32_t word)
{
	bool tags = field(word, 30, 2) == 1; /* the store is STGP; the load is LDPSW */

	a->is_store = !field(word, 22, 1);
	a->writes_base = field(word, 23, 1);
	a->regs[a->n_regs++] = field(word, 10, 5);
	return !a->is_store || a->is_vector || !tags;
}

static bool read_single(struct access *a, uint32_t word)
{
	uint32_t operation = field(word, 22, 2), size = field(word, 30, 2);
	bool has_scaled_offset = field(word, 24, 1), has_register = field(word, 21, 1);
	uint32_t form = field(word, 10, 2);

	a->is_store = a->is_vector ? !(operation & 1) : !operation;
	a->is_prefetch = !a->is_vector && size == 3 && operation >= 2;
	if (has_scaled_offset)
		return true;
	if (has_register)
		return form == 2; /* excludes atomic operations */
	a->writes_base = form & 1;
	return form != 2; /* excludes loads and stores with user privileges (LDTR, STTR) */
}

static bool read_access(struct access *a, uint32_t word)
{
	*a = (struct access){ .is_vector = field(word, 26, 1) };
	a->regs[a->n_regs++] = field(word, 0, 5);
	if (is_in(word, 0x3a000000, 0x28000000))
		return read_pair(a, word);
	if (is_literal(word)) {
		a->is_prefetch = field(word, 30, 2) == 3;
		return true;
	}
	return is_in(word, 0x3a000000, 0x38000000) && read_single(a, word);
}

static bool read_memory(struct probe_effect *e, uint32_t word)
{
	uint32_t base = field(word, 5, 5);
	struct access a;

	if (!read_access(&a, word) || (a.is_store && base != SP))
		return false;
	for (unsigned int i = 0; i < a.n_regs && !a.is_vector && !a.is_prefetch; i++) {
		if (!a.is_store)
			writes_reg(e, a.regs[i], false);
		else if (a.regs[i] == X30) /* counts as a write: see note_move() */
			writes_reg(e, X30, false);
	}
	return !a.writes_base || writes_reg(e, base, true);
}

/* Finds an instruction's effect. False: unknown, or must not be skipped. */
static bool read_effect(struct probe_effect *e, uint32_t word)
{
	*e = (struct probe_effect){ .copied_from = -1 };
	if (is_control(word))
		return read_control(e, word);
	if (is_in(word, 0x1c000000, 0x10000000))
		return read_immediate(e, word);
	if (is_in(word, 0x0e000000, 0x0a000000))
		return read_registers(e, word);
	return is_in(word, 0x0a000000, 0x08000000) && read_memory(e, word);
}

static bool read_step(struct probe_step *step, const uint8_t *code, size_t size)
{
	uint32_t word;

	if (size < sizeof(word))
		return false;
	word = load_u32(code);
	step->bytes = INSN_BYTES;
	step->kind = kind_of(word);
	step->is_skippable = read_effect(&step->effect, word);
	return true;
}

/* Procedure Call Standard for the Arm 64-bit Architecture: x0 to x7. */
const struct probe_machine probe_machine_arm64 = {
	.args = { 0, 1, 2, 3, 4, 5 },
	.return_regs = 1u << X30 | 1u << SP,
	.read = read_step,
	.find_limit = find_limit,
};
