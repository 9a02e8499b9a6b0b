/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The programs of call frame information (DWARF 5, 6.4.2 and 6.4.3; GNU extensions of LSB 5),
 * executed into unwind rules. Only what finding callers needs is kept: the CFA and the rules for
 * rbx, rbp, rsp and the return address. Where DWARF leaves room, libgcc's unwinder is followed.
 */
#ifndef CFA_PROGRAM_H
#define CFA_PROGRAM_H

#include "abi/unwind_rule.h"
#include "elf/dwarf_read.h"
#include "unwind/eh_frame.h"

#define CFA_REMEMBER_MAX 16

enum cfa_register { CFA_REG_BX, CFA_REG_BP, CFA_REG_SP, CFA_REG_RA, CFA_REGS };

enum cfa_place_kind {
	PLACE_SAME, /* also: nothing was said */
	PLACE_UNDEFINED,
	PLACE_AT_CFA, /* saved at CFA + off */
	PLACE_IS_CFA, /* is CFA + off */
	PLACE_AT_REG, /* saved at reg + off */
	PLACE_IN_REG, /* is in reg */
	PLACE_OTHER,
};

/* Where the caller's value of a register is. */
struct cfa_place {
	uint8_t kind; /* enum cfa_place_kind */
	uint8_t reg;
	int64_t off;
};

struct cfa_state {
	bool is_expression;	       /* the CFA is expression, not reg + off */
	struct unwind_rule expression; /* kind and cfa_off only */
	uint64_t reg;
	int64_t off;
	struct cfa_place places[CFA_REGS];
};

/* What a CIE's own program leaves: the state that its FDEs start with. */
struct cfa_start {
	struct cfa_state state;
	bool is_bad; /* the CIE's program could not be executed */
};

struct cfa_program {
	const struct eh_frame *eh;
	const struct eh_cie *cie;
	const struct cfa_start *start; /* NULL in a CIE */
	struct cursor code;	       /* failed: the rest of the code has the rule UNWIND_BAD */
	uint64_t loc, next_loc, end;
	unsigned int n_remembered;
	struct cfa_state state;
	struct cfa_state remembered[CFA_REMEMBER_MAX];
};

/* A rule and the code it is for. */
struct cfa_range {
	uint64_t start, end;
	struct unwind_rule rule;
};

void cfa_program_start(struct cfa_start *start, const struct eh_frame *eh,
		       const struct eh_cie *cie);

/* p may be used again; it is large, so only what is needed is set. */
void cfa_program_begin(struct cfa_program *p, const struct eh_frame *eh, const struct eh_fde *fde,
		       const struct cfa_start *start);

/* The next range, ascending and without holes from the FDE's start to its end. False: no more. */
bool cfa_program_next(struct cfa_program *p, struct cfa_range *range);

#endif
