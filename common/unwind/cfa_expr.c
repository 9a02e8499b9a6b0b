// SPDX-License-Identifier: GPL-2.0-only
/* Expressions that stand for a CFA or for where a register was saved; see cfa_expr.h. */
#include "unwind/cfa_expr.h"

enum op {
	OP_DEREF = 0x06,
	OP_AND = 0x1a,
	OP_PLUS = 0x22,
	OP_PLUS_UCONST = 0x23,
	OP_SHL = 0x24,
	OP_GE = 0x2a,
	OP_LIT0 = 0x30,
	OP_LIT3 = 0x33,
	OP_LIT15 = 0x3f,
	OP_BREG0 = 0x70,
	OP_BREG6 = 0x76,
	OP_BREG7 = 0x77,
	OP_BREG16 = 0x80,
	OP_BREG31 = 0x8f,
};

static bool read_breg(struct cursor *c, uint64_t *reg, int64_t *off)
{
	uint8_t op = cursor_u8(c);

	*reg = op - OP_BREG0;
	*off = cursor_sleb(c);
	return op >= OP_BREG0 && op <= OP_BREG31 && !c->failed;
}

bool cfa_expr_is_sum(struct cursor expr, uint64_t *reg, int64_t *off)
{
	return read_breg(&expr, reg, off) && !cursor_left(&expr);
}

/*
 * Matches the linkers' expression for .plt: rsp + 8 + ((rip & 15) >= N) * 8, where N is how far
 * into an entry of 16 bytes its push ends: 11, or 9 and 10 where entries begin with endbr64.
 */
static bool is_plt(struct cursor expr, int32_t *threshold)
{
	static const uint8_t head[] = { OP_BREG7, 8, OP_BREG16, 0, OP_LIT15, OP_AND };
	static const uint8_t tail[] = { OP_GE, OP_LIT3, OP_SHL, OP_PLUS };
	const uint8_t *p = expr.p;

	if (cursor_left(&expr) != sizeof(head) + 1 + sizeof(tail))
		return false;
	*threshold = p[sizeof(head)] - OP_LIT0;
	return !memcmp(p, head, sizeof(head)) && *threshold >= 0 && *threshold <= 15 &&
	       !memcmp(p + sizeof(head) + 1, tail, sizeof(tail));
}

/* *(reg + at) + plus */
static bool is_deref(struct cursor expr, uint64_t *reg, int32_t *packed)
{
	uint64_t plus = 0;
	int64_t at;

	if (!read_breg(&expr, reg, &at) || cursor_u8(&expr) != OP_DEREF)
		return false;
	if (cursor_left(&expr)) {
		if (cursor_u8(&expr) != OP_PLUS_UCONST)
			return false;
		plus = cursor_uleb(&expr);
	}
	if (expr.failed || cursor_left(&expr) || at < INT16_MIN || at > INT16_MAX ||
	    plus > INT16_MAX)
		return false;
	*packed = unwind_pack_deref((int16_t)at, (int16_t)plus);
	return true;
}

struct unwind_rule cfa_expr_rule(struct cursor expr)
{
	struct unwind_rule rule = { .kind = UNWIND_BAD };
	uint64_t reg;
	int32_t off;

	if (is_plt(expr, &off)) {
		rule.kind = UNWIND_PLT;
		rule.cfa_off = off;
	} else if (is_deref(expr, &reg, &off) &&
		   (reg == OP_BREG7 - OP_BREG0 || reg == OP_BREG6 - OP_BREG0)) {
		rule.kind = reg == OP_BREG7 - OP_BREG0 ? UNWIND_SP_DEREF : UNWIND_BP_DEREF;
		rule.cfa_off = off;
	}
	return rule;
}
