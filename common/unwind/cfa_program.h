/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Executes the programs of call frame information (DWARF 5, 6.4.2 and 6.4.3; GNU extensions of LSB
 * 5) into unwind rules (cfa_rule.h). Ambiguities of DWARF are resolved as in libgcc's unwinder.
 */
#ifndef CFA_PROGRAM_H
#define CFA_PROGRAM_H

#include "elf/dwarf_read.h"
#include "unwind/cfa_rule.h"
#include "unwind/eh_frame.h"

#define CFA_REMEMBER_MAX 16

/* State after a CIE's own program: the initial state of its FDEs. */
struct cfa_start {
	struct cfa_state state;
	bool is_bad; /* the CIE's program could not be executed */
};

struct cfa_program {
	const struct eh_frame *eh;
	const struct eh_cie *cie;
	const struct cfa_start *start; /* NULL: a CIE's program */
	struct cursor code;	       /* if it has failed, the remaining code gets UNWIND_BAD */
	uint64_t loc, next_loc, end;
	unsigned int n_remembered;
	struct cfa_state state;
	struct cfa_state remembered[CFA_REMEMBER_MAX];
};

/* A rule and the code range to which it applies. */
struct cfa_range {
	uint64_t start, end;
	struct unwind_rule rule;
	bool is_behind_plt; /* see cfa_is_behind_plt() */
};

void cfa_program_start(struct cfa_start *start, const struct eh_frame *eh,
		       const struct eh_cie *cie);

/* Initializes p for an FDE. p may be reused; it is large, so only the needed fields are set. */
void cfa_program_begin(struct cfa_program *p, const struct eh_frame *eh, const struct eh_fde *fde,
		       const struct cfa_start *start);

/*
 * Finds the next range, ascending, without holes from the FDE's start to its end. False: no more.
 */
bool cfa_program_next(struct cfa_program *p, struct cfa_range *range);

#endif
