/* SPDX-License-Identifier: GPL-2.0-only */
/* Unwind rules and tables as text, which tests compare. */
#ifndef RULE_TEXT_H
#define RULE_TEXT_H

#include "unit.h"
#include "unwind/cfi.h"

/* "sp+16 bp@cfa-16": the CFA, and where the caller's rbp and rbx are unless still there. */
static inline void print_rule(FILE *f, struct unwind_rule r)
{
	static const char *const names[UNWIND_KINDS] = {
		[UNWIND_GAP] = "-",   [UNWIND_SIGNAL] = "signal", [UNWIND_END] = "end",
		[UNWIND_BAD] = "bad", [UNWIND_CLONE] = "clone",
	};

	if (r.kind == UNWIND_SP || r.kind == UNWIND_BP)
		fprintf(f, "%s%+d", r.kind == UNWIND_SP ? "sp" : "bp", r.cfa_off);
	else if (r.kind == UNWIND_SP_DEREF || r.kind == UNWIND_BP_DEREF)
		fprintf(f, "*(%s%+d)%+d", r.kind == UNWIND_SP_DEREF ? "sp" : "bp",
			unwind_deref_at(r.cfa_off), unwind_deref_plus(r.cfa_off));
	else if (r.kind == UNWIND_REG)
		fprintf(f, "r%u%+d", unwind_reg(r.cfa_off), unwind_reg_plus(r.cfa_off));
	else if (r.kind == UNWIND_RA_REG)
		fprintf(f, "sp%+d to r%u", unwind_reg_plus(r.cfa_off), unwind_reg(r.cfa_off));
	else if (r.kind == UNWIND_PLT)
		fprintf(f, "plt %d", r.cfa_off);
	else
		fputs(names[r.kind] ? names[r.kind] : "?", f);
	if (r.bp_kind == UNWIND_BP_LOST)
		fputs(" bp lost", f);
	else if (r.bp_kind != UNWIND_BP_SAME)
		fprintf(f, " bp@%s%+d", r.bp_kind == UNWIND_BP_AT_CFA ? "cfa" : "bp", r.bp_off);
	if (r.kind < UNWIND_GO_CALL && r.extra_place >= UNWIND_BX_AT_CFA)
		fprintf(f, " bx@cfa%+d", -8 * r.extra_place);
}

/*
 * "sp+8; 10 sp+16; 20 -": each rule after the offset in the code from which it applies. Left out:
 * 0, and the gap at the end of the code.
 */
static inline void print_rows(FILE *f, const struct cfi_table *t, uint64_t code, uint64_t bytes)
{
	for (size_t i = 0; i < t->count; i++) {
		struct cfi_row row = cfi_row(t, i);
		int64_t at = (int64_t)(row.vaddr - code);

		if (row.rule.kind == UNWIND_GAP && at == (int64_t)bytes)
			break;
		fputs(i ? "; " : "", f);
		if (at)
			fprintf(f, "%llx ", (long long)at);
		print_rule(f, row.rule);
	}
}

#endif
