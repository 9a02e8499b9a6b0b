// SPDX-License-Identifier: GPL-2.0-only
/* Converts states to rules; see cfa_rule.h. */
#include <elf.h>
#include <stddef.h>

#include "abi/unwind_rule.h"
#include "unwind/cfa_rule.h"

/* ---- architectures ---- */

#define RSP	 7
#define RBP	 6
#define RA_X86	 16
#define SP_ARM64 31
#define X29	 29

static const struct cfa_machine machines[] = {
	{
		.e_machine = EM_X86_64,
		.numbers = { [CFA_REG_RA] = RA_X86,
			     [CFA_REG_SP] = RSP,
			     [CFA_REG_BP] = RBP,
			     [CFA_REG_EXTRA] = UNWIND_RBX },
		.n_registers = RA_X86,
		.bp_shift = 0,
	},
	{
		.e_machine = EM_AARCH64,
		.numbers = { [CFA_REG_RA] = UNWIND_LINK,
			     [CFA_REG_SP] = SP_ARM64,
			     [CFA_REG_BP] = X29,
			     [CFA_REG_EXTRA] = UNWIND_LINK },
		.n_registers = UNWIND_LINK + 1,
		.bp_shift = 3,
		.signs_addresses = true,
		.needs_extra = true,
	},
};

const struct cfa_machine *cfa_machine(uint16_t e_machine)
{
	for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++)
		if (machines[i].e_machine == e_machine)
			return &machines[i];
	return NULL;
}

/* ---- rules ---- */

#define REG_PLUS_MAX  ((1 << 23) - 1) /* maximum of unwind_pack_reg() */
#define RA_CFA_OFFSET (-8)	      /* the return address, on x86-64 */

static const struct unwind_rule bad = { .kind = UNWIND_BAD };

static bool set_bp_off(struct unwind_rule *rule, const struct cfa_machine *machine, int64_t off)
{
	int64_t n = off >> machine->bp_shift;

	rule->bp_off = (int16_t)n;
	return (int64_t)((uint64_t)n << machine->bp_shift) == off && n >= INT16_MIN &&
	       n <= INT16_MAX;
}

static bool has_room_for(int64_t plus)
{
	return plus >= -REG_PLUS_MAX && plus <= REG_PLUS_MAX;
}

static bool sp_is_cfa(const struct cfa_state *s)
{
	const struct cfa_place *sp = &s->places[CFA_REG_SP];

	return sp->kind == PLACE_SAME || (sp->kind == PLACE_IS_CFA && !sp->off);
}

static void add_bp_rule(struct unwind_rule *rule, const struct cfa_machine *machine,
			const struct cfa_place *bp)
{
	rule->bp_kind = UNWIND_BP_LOST;
	if (bp->kind == PLACE_SAME)
		rule->bp_kind = UNWIND_BP_SAME;
	else if (bp->kind == PLACE_AT_CFA && set_bp_off(rule, machine, bp->off))
		rule->bp_kind = UNWIND_BP_AT_CFA;
	else if (bp->kind == PLACE_AT_REG && bp->reg == machine->numbers[CFA_REG_BP] &&
		 set_bp_off(rule, machine, bp->off))
		rule->bp_kind = UNWIND_BP_AT_BP;
	else
		rule->bp_off = 0;
}

static struct unwind_rule sum_rule(const struct cfa_machine *machine, uint64_t reg, int64_t off)
{
	if (off < INT32_MIN || off > INT32_MAX)
		return bad;
	if (reg == machine->numbers[CFA_REG_SP])
		return (struct unwind_rule){ .kind = UNWIND_SP, .cfa_off = (int32_t)off };
	if (reg == machine->numbers[CFA_REG_BP])
		return (struct unwind_rule){ .kind = UNWIND_BP, .cfa_off = (int32_t)off };
	if (reg < machine->n_registers && has_room_for(off))
		return (struct unwind_rule){
			.kind = UNWIND_REG,
			.cfa_off = unwind_pack_reg((uint8_t)reg, (int32_t)off),
		};
	return bad;
}

/* Makes the rule that finds the CFA and the caller's frame pointer. */
static struct unwind_rule frame_rule(const struct cfa_machine *machine, const struct cfa_state *s)
{
	struct unwind_rule rule =
		s->is_expression ? s->expression : sum_rule(machine, s->reg, s->off);

	if (rule.kind != UNWIND_BAD)
		add_bp_rule(&rule, machine, &s->places[CFA_REG_BP]);
	return rule;
}

/* ---- x86-64 ---- */

static bool is_rt_sigframe(const struct cfa_state *s)
{
	const struct cfa_place *ra = &s->places[CFA_REG_RA];

	return s->is_expression && s->expression.kind == UNWIND_SP_DEREF &&
	       s->expression.cfa_off == unwind_pack_deref(UNWIND_UCONTEXT_RSP, 0) &&
	       ra->kind == PLACE_AT_REG && ra->reg == RSP && ra->off == UNWIND_UCONTEXT_RIP;
}

static uint8_t bx_place(const struct cfa_place *bx)
{
	if (bx->kind == PLACE_SAME)
		return UNWIND_BX_SAME;
	if (bx->kind != PLACE_AT_CFA || bx->off % 8 || bx->off > -8 * UNWIND_BX_AT_CFA ||
	    bx->off <= -8 * UNWIND_EXTRA_PLACES)
		return UNWIND_BX_LOST;
	return (uint8_t)(bx->off / -8);
}

/* Makes a rule for a return address in a register, as in vfork, which has popped it. */
static struct unwind_rule make_ra_rule(const struct cfa_state *s)
{
	const struct cfa_place *ra = &s->places[CFA_REG_RA];

	if (s->is_expression || s->reg != RSP || !has_room_for(s->off) ||
	    s->places[CFA_REG_BP].kind != PLACE_SAME)
		return bad;
	return (struct unwind_rule){ .kind = UNWIND_RA_REG,
				     .cfa_off = unwind_pack_reg(ra->reg, (int32_t)s->off) };
}

static struct unwind_rule rule_of_x86(const struct cfa_machine *machine, const struct cfa_state *s,
				      bool is_signal_frame)
{
	const struct cfa_place *ra = &s->places[CFA_REG_RA];
	struct unwind_rule rule;

	if (is_signal_frame)
		return (struct unwind_rule){ .kind = is_rt_sigframe(s) ? UNWIND_SIGNAL
								       : UNWIND_BAD };
	if (ra->kind == PLACE_IN_REG && sp_is_cfa(s))
		return make_ra_rule(s);
	if (ra->kind != PLACE_AT_CFA || ra->off != RA_CFA_OFFSET || !sp_is_cfa(s))
		return bad;
	rule = frame_rule(machine, s);
	if (rule.kind != UNWIND_BAD)
		rule.extra_place = bx_place(&s->places[CFA_REG_EXTRA]);
	return rule;
}

/* ---- arm64 ---- */

/* Adds a return address saved at CFA + off. False if a rule can't express it. */
static bool add_saved_ra(struct unwind_rule *rule, const struct cfa_machine *machine, int64_t off)
{
	if (rule->bp_kind == UNWIND_BP_AT_CFA && off == rule->bp_off * (1 << machine->bp_shift) + 8)
		return true; /* UNWIND_RA_BEHIND_BP */
	if (off % 8 == 0 && off < 0 && off > -8 * UNWIND_RA_IN_LINK) {
		rule->extra_place = (uint8_t)(off / -8);
		return true;
	}
	return !rule->bp_off && set_bp_off(rule, machine, off - 8);
}

static bool add_ra_place(struct unwind_rule *rule, const struct cfa_machine *machine,
			 const struct cfa_place *ra)
{
	switch (ra->kind) {
	case PLACE_AT_CFA:
		return add_saved_ra(rule, machine, ra->off);
	case PLACE_SAME:
		rule->extra_place = UNWIND_RA_IN_LINK;
		return true;
	default:
		return false;
	}
}

bool cfa_is_behind_plt(const struct cfa_machine *machine, const struct cfa_state *s)
{
	return machine->needs_extra && !s->is_expression &&
	       s->places[CFA_REG_RA].kind == PLACE_AT_CFA &&
	       s->places[CFA_REG_RA].off == CFA_PLT_BYTES - 8;
}

/* Adds the registers pushed by the PLT to the CFA. */
static struct cfa_state count_pushed(const struct cfa_state *s)
{
	struct cfa_state counted = *s;

	counted.off += CFA_PLT_BYTES;
	for (size_t i = 0; i < CFA_REGS; i++)
		if (counted.places[i].kind == PLACE_AT_CFA)
			counted.places[i].off -= CFA_PLT_BYTES;
	return counted;
}

static struct unwind_rule rule_of_arm64(const struct cfa_machine *machine,
					const struct cfa_state *s, bool is_signal_frame)
{
	struct cfa_state counted;
	struct unwind_rule rule;

	if (is_signal_frame || s->is_expression || !sp_is_cfa(s))
		return bad;
	if (cfa_is_behind_plt(machine, s)) {
		counted = count_pushed(s);
		s = &counted;
	}
	rule = frame_rule(machine, s);
	if (rule.kind == UNWIND_BAD || !add_ra_place(&rule, machine, &s->places[CFA_REG_RA]))
		return bad;
	return rule;
}

/* ---- both ---- */

struct unwind_rule cfa_rule(const struct cfa_machine *machine, const struct cfa_state *s,
			    bool is_signal_frame)
{
	if (s->places[CFA_REG_RA].kind == PLACE_UNDEFINED)
		return (struct unwind_rule){ .kind = UNWIND_END };
	if (machine->e_machine == EM_X86_64)
		return rule_of_x86(machine, s, is_signal_frame);
	return rule_of_arm64(machine, s, is_signal_frame);
}
