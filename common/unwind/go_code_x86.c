// SPDX-License-Identifier: GPL-2.0-only
/*
 * Go's frames on x86-64; see go_code.h. The return address lies above the frame: CFA = rsp + the
 * frame's size + 8. Functions with a frame save the caller's rbp at its top, at CFA - 16 (since Go
 * 1.7). The names in comments are those of runtime/asm_amd64.s.
 */
#include <string.h>

#include "base/load.h"
#include "elf/x86_decode.h"
#include "unwind/go_code.h"

#define REX_W	    8
#define NO_REGISTER 0xff
#define BP_OFF	    (-16)

enum { RSP = 4, RBP = 5 };

enum opcode {
	OPCODE_SUB = 0x2b,   /* register -= memory */
	OPCODE_AND = 0x83,   /* and $byte, if ModRM's reg is 4 */
	OPCODE_STORE = 0x89, /* register to register or memory */
	OPCODE_LOAD = 0x8b,
	OPCODE_LEA = 0x8d,
	OPCODE_IMMEDIATE = 0xc7,
	OPCODE_PUSH_RBP = 0x55,
};

/* A decoded instruction. */
struct step {
	struct x86_insn insn;
	const uint8_t *start;
	size_t next; /* offset of the next instruction */
};

/* Decodes an instruction. Skips one byte of an unknown one: decoding resynchronizes. */
static bool next_step(const struct go_code *code, size_t *at, struct step *step)
{
	if (*at >= code->size)
		return false;
	if (!x86_decode(&step->insn, code->bytes + *at, code->size - *at))
		step->insn = (struct x86_insn){ .bytes = 1, .opcode = 0x90 };
	step->start = code->bytes + *at;
	*at += step->insn.bytes;
	step->next = *at;
	return true;
}

static bool is_wide(const struct x86_insn *insn, enum opcode opcode)
{
	return insn->map == X86_MAP_ONE && !insn->is_vex && insn->rex & REX_W &&
	       insn->opcode == opcode;
}

/* ---- operands ---- */

/* A memory operand: a base register and a displacement. */
struct place {
	uint8_t base; /* NO_REGISTER: none */
	int32_t distance;
};

/* Reads the SIB byte: the base (5 in mode 0: none). False: it has an index register. */
static bool read_sib(const struct x86_insn *insn, uint8_t sib, uint8_t *base)
{
	*base = (uint8_t)((sib & 7) | (insn->rex & 1 ? 8 : 0));
	if (!(insn->modrm >> 6) && (sib & 7) == 5)
		*base = NO_REGISTER;
	return (sib >> 3 & 7) == 4 && !(insn->rex & 2);
}

static bool read_place(const struct step *step, struct place *place)
{
	const struct x86_insn *insn = &step->insn;
	const uint8_t *p = step->start + insn->modrm_at + 1;
	uint8_t mode = insn->modrm >> 6;

	if (!insn->has_modrm || mode == 3 || (!mode && (insn->modrm & 7) == 5)) /* rip + n */
		return false;
	place->base = x86_rm(insn);
	if ((insn->modrm & 7) == 4 && !read_sib(insn, *p++, &place->base))
		return false;
	place->distance = 0;
	if (mode == 1)
		place->distance = (*p ^ 0x80) - 0x80; /* sign extension */
	else if (mode == 2 || place->base == NO_REGISTER)
		place->distance = (int32_t)load_u32(p);
	return true;
}

/* Matches an instruction with that opcode and a memory operand. */
static bool read_access(const struct step *step, enum opcode opcode, uint8_t *reg,
			struct place *place)
{
	if (!is_wide(&step->insn, opcode) || !read_place(step, place))
		return false;
	*reg = x86_reg(&step->insn);
	return true;
}

/* ---- the stack pointer ---- */

static bool writes_sp(const struct x86_insn *insn)
{
	if (is_wide(insn, OPCODE_LOAD))
		return x86_reg(insn) == RSP;
	if (x86_rm_is_memory(insn) || x86_rm(insn) != RSP)
		return false;
	return is_wide(insn, OPCODE_STORE) ||
	       (is_wide(insn, OPCODE_AND) && (insn->modrm >> 3 & 7) == 4);
}

static bool takes_sp(const struct x86_insn *insn)
{
	return is_wide(insn, OPCODE_STORE) && !x86_rm_is_memory(insn) && x86_reg(insn) == RSP &&
	       x86_rm(insn) == RBP;
}

static bool copies_sp(const struct go_code *code, size_t from, size_t end)
{
	struct step step;

	while (from < end && next_step(code, &from, &step))
		if (takes_sp(&step.insn))
			return true;
	return false;
}

static bool moves_stack(const struct go_code *code, size_t *first, size_t *last)
{
	struct step step;
	size_t at = 0;

	*first = *last = 0;
	while (next_step(code, &at, &step)) {
		if (!writes_sp(&step.insn))
			continue;
		*first = *first ? *first : step.next;
		*last = step.next;
	}
	return *first;
}

/* ---- frames ---- */

static struct unwind_rule frame_rule(int32_t frame_bytes, bool is_injected, int32_t bp_off)
{
	struct unwind_rule rule = { .kind = is_injected ? UNWIND_SP_EXACT : UNWIND_SP,
				    .cfa_off = frame_bytes + 8 };

	if (bp_off < 0 && bp_off >= INT16_MIN) {
		rule.bp_kind = UNWIND_BP_AT_CFA;
		rule.bp_off = (int16_t)bp_off;
	}
	return rule;
}

static int32_t usual_bp_off(int32_t frame_bytes)
{
	return frame_bytes >= 8 ? BP_OFF : 0;
}

/* Returns true if a push of rbp ends at that offset. */
static bool pushes_bp(const struct go_code *code, size_t end)
{
	return end && end <= code->size && code->bytes[end - 1] == OPCODE_PUSH_RBP;
}

/* Finds where rbp is saved: pushed before start, or stored relative to rsp. */
static bool find_saved(const struct go_code *code, size_t start, size_t end, int32_t frame_bytes,
		       struct go_saved *saved)
{
	struct place place;
	struct step step;
	uint8_t reg;

	if (frame_bytes == 8 && pushes_bp(code, start)) {
		*saved = (struct go_saved){ BP_OFF, frame_bytes, start };
		return true;
	}
	while (start < end && next_step(code, &start, &step)) {
		if (!read_access(&step, OPCODE_STORE, &reg, &place) || reg != RBP ||
		    place.base != RSP)
			continue;
		*saved = (struct go_saved){ place.distance - frame_bytes - 8, frame_bytes,
					    step.next };
		return true;
	}
	return false;
}

/* ---- from one stack to the other ---- */

/*
 * Matches MOVQ g(CX), AX: loads g from thread-local storage. Its offset is in the instruction, or
 * in the one before, which moves it to the base register.
 */
static bool reads_g(const struct step *before, const struct step *step, int32_t *tls, uint8_t *g)
{
	struct place place;

	if (!(step->insn.prefixes & X86_PREFIX_SEGMENT) ||
	    !read_access(step, OPCODE_LOAD, g, &place))
		return false;
	*tls = place.distance;
	if (place.base == NO_REGISTER)
		return true;
	if (!is_wide(&before->insn, OPCODE_IMMEDIATE) || x86_rm_is_memory(&before->insn) ||
	    x86_rm(&before->insn) != place.base)
		return false;
	*tls += (int32_t)load_u32(before->start + before->insn.modrm_at + 1);
	return true;
}

/* Matches a load of register `to` from memory at `from` + distance. */
static bool loads(const struct step *step, uint8_t from, uint8_t *to, int32_t *distance)
{
	struct place place;

	if (!read_access(step, OPCODE_LOAD, to, &place) || place.base != from)
		return false;
	*distance = place.distance;
	return true;
}

/* How systemstack returns: offsets of g in TLS, g.m, m.curg, and curg's sched.sp. */
struct way_back {
	int32_t tls, m, curg, sp;
};

/* Finds MOVQ (g_sched+gobuf_sp)(AX), SP. */
static bool find_sched(const struct go_code *code, size_t at, uint8_t g, int32_t *sp)
{
	struct step step;
	uint8_t to;

	while (next_step(code, &at, &step))
		if (loads(&step, g, &to, sp) && to == RSP)
			return true;
	return false;
}

/* Returns the last match in *way: the switch to the other stack, which precedes it, may match. */
static bool find_way_back(const struct go_code *code, struct way_back *way)
{
	struct step steps[4] = {}; /* latest last */
	struct way_back found;
	uint8_t g, m, curg;
	bool is_found = false;
	size_t at = 0;

	while (next_step(code, &at, &steps[3])) {
		if (reads_g(&steps[0], &steps[1], &found.tls, &g) &&
		    loads(&steps[2], g, &m, &found.m) && loads(&steps[3], m, &curg, &found.curg) &&
		    find_sched(code, at, curg, &found.sp)) {
			*way = found;
			is_found = true;
		}
		memmove(steps, steps + 1, 3 * sizeof(steps[0]));
	}
	return is_found;
}

/*
 * Returns the distance in words from gobuf_sp to gobuf_bp, by morestack's code; 0: not found. LEAQ
 * 8(SP), AX; MOVQ AX, (g_sched+gobuf_sp)(SI); MOVQ BP, (g_sched+gobuf_bp)(SI).
 */
static uint8_t find_bp_words(const struct go_code *code)
{
	struct step steps[3] = {};
	struct place places[3];
	uint8_t regs[3];
	size_t at = 0;

	while (next_step(code, &at, &steps[2])) {
		if (read_access(&steps[0], OPCODE_LEA, &regs[0], &places[0]) &&
		    places[0].base == RSP && places[0].distance == 8 &&
		    read_access(&steps[1], OPCODE_STORE, &regs[1], &places[1]) &&
		    regs[1] == regs[0] &&
		    read_access(&steps[2], OPCODE_STORE, &regs[2], &places[2]) && regs[2] == RBP &&
		    places[2].base == places[1].base)
			return (uint8_t)((places[2].distance - places[1].distance) / 8);
		memmove(steps, steps + 1, 2 * sizeof(steps[0]));
	}
	return 0;
}

static bool fits(const struct way_back *way, uint8_t bp_words)
{
	return way->tls < 0 && way->tls >= INT16_MIN && way->m >= 0 && way->m <= UINT8_MAX &&
	       way->sp >= 0 && way->sp <= UINT8_MAX && way->curg >= 0 && way->curg <= UINT16_MAX &&
	       bp_words && bp_words < UNWIND_EXTRA_PLACES;
}

static struct unwind_rule find_stack(const struct go_code *systemstack,
				     const struct go_code *morestack)
{
	uint8_t bp_words = find_bp_words(morestack);
	struct way_back way;

	if (!find_way_back(systemstack, &way) || !fits(&way, bp_words))
		return (struct unwind_rule){ .kind = UNWIND_BAD };
	return (struct unwind_rule){
		.kind = UNWIND_GO_STACK,
		.extra_place = bp_words,
		.bp_off = (int16_t)way.tls,
		.cfa_off = unwind_pack_go((__u8)way.m, (__u8)way.sp, (__u16)way.curg),
	};
}

/*
 * Finds asmcgocall's way back from C code before Go 1.21: MOVQ 48(SP), DI; MOVQ
 * (g_stack+stack_hi)(DI), SI; SUBQ 40(SP), SI
 */
static struct unwind_rule find_call(const struct go_code *asmcgocall)
{
	struct step steps[3] = {};
	struct place g, high, used;
	uint8_t regs[3];
	size_t at = 0;

	while (next_step(asmcgocall, &at, &steps[2])) {
		if (read_access(&steps[0], OPCODE_LOAD, &regs[0], &g) && g.base == RSP &&
		    read_access(&steps[1], OPCODE_LOAD, &regs[1], &high) && high.base == regs[0] &&
		    high.distance == UNWIND_GO_STACK_HIGH &&
		    read_access(&steps[2], OPCODE_SUB, &regs[2], &used) && regs[2] == regs[1] &&
		    used.base == RSP && g.distance == used.distance + 8)
			return (struct unwind_rule){ .kind = UNWIND_GO_CALL,
						     .cfa_off = used.distance };
		memmove(steps, steps + 1, 2 * sizeof(steps[0]));
	}
	return (struct unwind_rule){ .kind = UNWIND_BAD };
}

/*
 * Makes a rule by rbp, which callees preserve: it points to the caller's saved rbp or, before Go
 * 1.17, where nanotime etc. copy rsp to rbp, to the frame's lower end.
 */
static struct unwind_rule find_switch(const struct go_code *code, const struct go_saved *saved,
				      size_t away)
{
	struct unwind_rule rule = { .kind = UNWIND_SWITCH,
				    .cfa_off = -BP_OFF,
				    .bp_kind = UNWIND_BP_AT_CFA,
				    .bp_off = BP_OFF };

	if (saved->bp_off != BP_OFF)
		return find_call(code);
	if (copies_sp(code, saved->from, away))
		rule.cfa_off = saved->frame_bytes + 8;
	return rule;
}

const struct go_machine go_machine_x86 = {
	.frame_rule = frame_rule,
	.usual_bp_off = usual_bp_off,
	.find_saved = find_saved,
	.moves_stack = moves_stack,
	.find_switch = find_switch,
	.find_stack = find_stack,
};
