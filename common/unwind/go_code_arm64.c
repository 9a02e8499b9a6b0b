// SPDX-License-Identifier: GPL-2.0-only
/*
 * Go's frames on arm64; see go_code.h. CFA = sp + the frame's size. Functions with a frame save the
 * return address at its lower end, and the caller's x29 below that, at sp - 8: the two form a frame
 * record, to which x29 points (since Go 1.12). Functions with frames of size 0 save neither. The
 * goroutine, g, is in x28. The names in comments are those of runtime/asm_arm64.s; the instructions
 * are encoded as in the Arm Architecture Reference Manual, C4.1.
 */

#include "base/load.h"
#include "unwind/go_code.h"

#define INSN_BYTES	4
#define WORD		8
#define INJECTED_BYTES	16 /* a slot for x30 of the interrupted code */
#define PROLOGUE_TMP	20 /* x20: sp of a large frame before sp is set to it */
#define SIGNED(x, bits) ((int32_t)((x) << (32 - (bits))) >> (32 - (bits)))

enum { X28 = 28, X29, X30, SP };

enum insn_class {
	INSN_OTHER,
	INSN_LOAD,	/* x[t] = *(x[n] + offset) */
	INSN_STORE,	/* *(x[n] + offset) = x[t] */
	INSN_PUSH,	/* x[n] += offset; *x[n] = x[t] */
	INSN_STORE_TWO, /* *(x[n] + offset) = x[t], x[t2] */
	INSN_ADD,	/* x[t] = x[n] + offset; sp is number 31 */
	INSN_SUB,	/* x[t] = x[n] - offset */
	INSN_SUB_REG,	/* x[t] = x[n] - x[t2] */
	INSN_AND,	/* x[t] = x[n] & a constant */
};

struct insn {
	enum insn_class class;
	uint8_t t, n, t2;
	int32_t offset;
};

static uint32_t field(uint32_t word, unsigned int at, unsigned int bits)
{
	return word >> at & ((1U << bits) - 1);
}

static int32_t immediate(uint32_t word)
{
	return (int32_t)(field(word, 10, 12) << (field(word, 22, 1) ? 12 : 0));
}

static struct insn decode(uint32_t word)
{
	struct insn insn = { .t = (uint8_t)field(word, 0, 5),
			     .n = (uint8_t)field(word, 5, 5),
			     .t2 = (uint8_t)field(word, 16, 5) };

	if ((word & 0xff800000) == 0xf9000000) { /* ldr, str: x, scaled offset */
		insn.class = field(word, 22, 1) ? INSN_LOAD : INSN_STORE;
		insn.offset = (int32_t)field(word, 10, 12) * WORD;
	} else if ((word & 0xffe00400) == 0xf8000000 || (word & 0xffe00c00) == 0xf8000c00) {
		insn.class = field(word, 10, 2) == 3 ? INSN_PUSH : INSN_STORE; /* stur; str ...! */
		insn.offset = SIGNED(field(word, 12, 9), 9);
	} else if ((word & 0xffc00000) == 0xa9000000) { /* stp, signed offset */
		insn.class = INSN_STORE_TWO;
		insn.t2 = (uint8_t)field(word, 10, 5);
		insn.offset = SIGNED(field(word, 15, 7), 7) * WORD;
	} else if ((word & 0xff800000) == 0x91000000 || (word & 0xff800000) == 0xd1000000) {
		insn.class = field(word, 30, 1) ? INSN_SUB : INSN_ADD;
		insn.offset = immediate(word);
	} else if ((word & 0xffe0fc00) == 0xcb000000) {
		insn.class = INSN_SUB_REG;
	} else if ((word & 0xff800000) == 0x92000000) {
		insn.class = INSN_AND;
	}
	return insn;
}

/* Decodes the instruction at an offset; INSN_OTHER outside of the code. */
static struct insn insn_at(const struct go_code *code, size_t at)
{
	if (at > code->size || code->size - at < INSN_BYTES)
		return (struct insn){ .class = INSN_OTHER };
	return decode(load_u32(code->bytes + at));
}

static bool is_access(const struct insn *insn, enum insn_class class, uint8_t base)
{
	return insn->class == class && insn->n == base;
}

static bool is_load(const struct insn *insn, uint8_t base, uint8_t to)
{
	return is_access(insn, INSN_LOAD, base) && insn->t == to;
}

/* ---- frames ---- */

static struct unwind_rule frame_rule(int32_t frame_bytes, bool is_injected, int32_t bp_off)
{
	int32_t above = is_injected ? INJECTED_BYTES : 0, words = (bp_off - above) / WORD;
	struct unwind_rule rule = { .kind = is_injected ? UNWIND_SP_EXACT : UNWIND_SP,
				    .cfa_off = frame_bytes + above };

	if (!bp_off) {
		rule.extra_place = UNWIND_RA_IN_LINK;
		return rule;
	}
	if (bp_off % WORD || words < INT16_MIN || words >= 0)
		return (struct unwind_rule){ .kind = UNWIND_BAD };
	rule.bp_kind = UNWIND_BP_AT_CFA;
	rule.bp_off = (int16_t)words;
	return rule;
}

static int32_t usual_bp_off(int32_t frame_bytes)
{
	return frame_bytes > 0 ? -frame_bytes - WORD : 0;
}

/* Matches mov sp, x20, which completes a large frame. */
static bool ends_large_prologue(const struct insn *insn)
{
	return is_access(insn, INSN_ADD, PROLOGUE_TMP) && insn->t == SP && !insn->offset;
}

/* Matches a store of x29 below sp (after that of x30), or of both together. */
static bool saves_record(const struct insn *insn)
{
	if (is_access(insn, INSN_STORE, SP))
		return insn->t == X29 && insn->offset == -WORD;
	return is_access(insn, INSN_STORE_TWO, SP) && insn->t == X29 && insn->t2 == X30;
}

static bool find_saved(const struct go_code *code, size_t start, size_t end, int32_t frame_bytes,
		       struct go_saved *saved)
{
	struct insn insn = insn_at(code, start - INSN_BYTES);

	if (frame_bytes <= 0)
		return false;
	if (start && ends_large_prologue(&insn)) {
		*saved = (struct go_saved){ usual_bp_off(frame_bytes), frame_bytes, start };
		return true;
	}
	for (size_t at = start; at < end && at < code->size; at += INSN_BYTES) {
		insn = insn_at(code, at);
		if (!saves_record(&insn))
			continue;
		*saved = (struct go_saved){ insn.offset - frame_bytes, frame_bytes,
					    at + INSN_BYTES };
		return true;
	}
	return false;
}

/* ---- from one stack to the other ---- */

static bool writes_sp(const struct insn *insn)
{
	return (insn->class == INSN_ADD || insn->class == INSN_SUB || insn->class == INSN_AND) &&
	       insn->t == SP && insn->n != SP;
}

/* Matches sub x20, sp, #size. */
static bool begins_large_prologue(const struct insn *insn)
{
	return is_access(insn, INSN_SUB, SP) && insn->t == PROLOGUE_TMP;
}

static bool moves_stack(const struct go_code *code, size_t *first, size_t *last)
{
	bool is_prologue = false;

	*first = *last = 0;
	for (size_t at = 0; at + INSN_BYTES <= code->size; at += INSN_BYTES) {
		struct insn insn = insn_at(code, at);

		is_prologue |= begins_large_prologue(&insn);
		if (!writes_sp(&insn))
			continue;
		if (is_prologue && ends_large_prologue(&insn)) {
			is_prologue = false;
			continue;
		}
		*last = at + INSN_BYTES;
		*first = *first ? *first : *last;
	}
	return *first;
}

/*
 * Finds the offset at which asmcgocall saves its g and how much of g's stack is used: MOVD R4,
 * 0(RSP); MOVD (g_stack+stack_hi)(R4), R4; SUB R2, R4; MOVD R4, 8(RSP)
 */
static bool find_kept(const struct go_code *code, int32_t *place)
{
	for (size_t at = 0; at + 4 * INSN_BYTES <= code->size; at += INSN_BYTES) {
		struct insn g = insn_at(code, at), high = insn_at(code, at + INSN_BYTES),
			    sub = insn_at(code, at + 2 * INSN_BYTES),
			    used = insn_at(code, at + 3 * INSN_BYTES);

		if (is_access(&g, INSN_STORE, SP) && is_load(&high, g.t, high.t) &&
		    high.offset == UNWIND_GO_STACK_HIGH && is_access(&sub, INSN_SUB_REG, high.t) &&
		    is_access(&used, INSN_STORE, SP) && used.t == sub.t &&
		    used.offset == g.offset + WORD) {
			*place = g.offset;
			return true;
		}
	}
	return false;
}

/* Finds the way back by asmcgocall's saved values, else by x29, which callees preserve. */
static struct unwind_rule find_switch(const struct go_code *code, const struct go_saved *saved,
				      size_t away)
{
	int32_t place, frame_bytes = saved->frame_bytes;

	(void)away;
	if (!saved->bp_off || saved->bp_off != usual_bp_off(frame_bytes) ||
	    frame_bytes / WORD > INT16_MAX - 1)
		return (struct unwind_rule){ .kind = UNWIND_BAD };
	if (find_kept(code, &place))
		return (struct unwind_rule){ .kind = UNWIND_GO_CALL,
					     .bp_off = (int16_t)(frame_bytes / WORD),
					     .cfa_off = place };
	return (struct unwind_rule){ .kind = UNWIND_SWITCH,
				     .cfa_off = -saved->bp_off,
				     .bp_kind = UNWIND_BP_AT_CFA,
				     .bp_off = (int16_t)(saved->bp_off / WORD) };
}

/* How systemstack returns: offsets of g.m, m.curg, and curg's sched.sp and sched.bp. */
struct way_back {
	int32_t m, curg, sp, bp;
};

/* Matches MOVD (g_sched+gobuf_sp)(g), R0; MOVD R0, RSP; MOVD (g_sched+gobuf_bp)(g), R29. */
static bool find_sched(const struct go_code *code, size_t at, struct way_back *way)
{
	for (; at + 3 * INSN_BYTES <= code->size; at += INSN_BYTES) {
		struct insn sp = insn_at(code, at), move = insn_at(code, at + INSN_BYTES),
			    bp = insn_at(code, at + 2 * INSN_BYTES);

		if (is_load(&sp, X28, sp.t) && is_access(&move, INSN_ADD, sp.t) && move.t == SP &&
		    is_load(&bp, X28, X29)) {
			way->sp = sp.offset;
			way->bp = bp.offset;
			return true;
		}
	}
	return false;
}

/*
 * Finds the last match of MOVD g_m(g), R3; MOVD m_curg(R3), g: the switch to the other stack may
 * look alike.
 */
static bool find_way_back(const struct go_code *code, struct way_back *way)
{
	bool is_found = false;

	for (size_t at = 0; at + 2 * INSN_BYTES <= code->size; at += INSN_BYTES) {
		struct insn m = insn_at(code, at), curg = insn_at(code, at + INSN_BYTES);
		struct way_back found = { .m = m.offset, .curg = curg.offset };

		if (is_load(&m, X28, m.t) && is_load(&curg, m.t, X28) &&
		    find_sched(code, at, &found)) {
			*way = found;
			is_found = true;
		}
	}
	return is_found;
}

/* Returns the size of the frame that the first push of x30 makes; 0: none. */
static int32_t find_frame_bytes(const struct go_code *code)
{
	for (size_t at = 0; at + INSN_BYTES <= code->size; at += INSN_BYTES) {
		struct insn insn = insn_at(code, at);

		if (is_access(&insn, INSN_PUSH, SP) && insn.t == X30)
			return -insn.offset;
	}
	return 0;
}

static bool fits(const struct way_back *way, int32_t frame_bytes)
{
	return way->m <= UINT8_MAX && way->sp <= UINT8_MAX && way->curg <= UINT16_MAX &&
	       way->bp > way->sp && (way->bp - way->sp) / WORD < UNWIND_EXTRA_PLACES &&
	       frame_bytes > 0;
}

static struct unwind_rule find_stack(const struct go_code *systemstack,
				     const struct go_code *morestack)
{
	int32_t frame_bytes = find_frame_bytes(systemstack);
	struct way_back way = {};

	(void)morestack;
	if (!find_way_back(systemstack, &way) || !fits(&way, frame_bytes))
		return (struct unwind_rule){ .kind = UNWIND_BAD };
	return (struct unwind_rule){
		.kind = UNWIND_GO_STACK,
		.extra_place = (uint8_t)((way.bp - way.sp) / WORD),
		.bp_off = (int16_t)(frame_bytes / WORD),
		.cfa_off = unwind_pack_go((__u8)way.m, (__u8)way.sp, (__u16)way.curg),
	};
}

const struct go_machine go_machine_arm64 = {
	.frame_rule = frame_rule,
	.usual_bp_off = usual_bp_off,
	.find_saved = find_saved,
	.moves_stack = moves_stack,
	.find_switch = find_switch,
	.find_stack = find_stack,
};
