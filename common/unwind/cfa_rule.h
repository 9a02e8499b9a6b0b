/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Converts the call frame information of one code address to an unwind rule: the CFA, and the
 * caller's values of the few registers that finding callers needs.
 */
#ifndef CFA_RULE_H
#define CFA_RULE_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/unwind_rule.h"

/* Registers of an architecture in DWARF: psABI AMD64 1.0, 3.6.2; AADWARF64, 4.1. */

/* If several have the same number, the first one counts: on arm64 x30 is the return address. */
enum cfa_register { CFA_REG_RA, CFA_REG_SP, CFA_REG_BP, CFA_REG_EXTRA, CFA_REGS };

struct cfa_machine {
	uint16_t e_machine;
	uint8_t numbers[CFA_REGS]; /* DWARF register numbers */
	uint8_t n_registers;	   /* number of DWARF registers that a rule can name: 0 to n - 1 */
	uint8_t bp_shift;	   /* log2 of the unit of unwind_rule.bp_off in bytes */
	bool signs_addresses;	   /* DW_CFA_AARCH64_negate_ra_state is supported */
	bool needs_extra;	   /* each rule locates the extra register */
};

/* Returns the description of an ELF machine; NULL: not supported. */
const struct cfa_machine *cfa_machine(uint16_t e_machine);

enum cfa_place_kind {
	PLACE_SAME, /* unchanged; also the default */
	PLACE_UNDEFINED,
	PLACE_AT_CFA, /* saved in memory at CFA + off */
	PLACE_IS_CFA, /* value is CFA + off */
	PLACE_AT_REG, /* saved in memory at reg + off */
	PLACE_IN_REG, /* value is in reg */
	PLACE_OTHER,
};

/* Location of the caller's value of a register. */
struct cfa_place {
	uint8_t kind; /* enum cfa_place_kind */
	uint8_t reg;
	int64_t off;
};

struct cfa_state {
	bool is_expression;	       /* the CFA is given by expression, not reg + off */
	struct unwind_rule expression; /* kind and cfa_off only */
	uint64_t reg;
	int64_t off;
	struct cfa_place places[CFA_REGS];
};

/*
 * Returns true for glibc's _dl_runtime_resolve on arm64. The PLT pushes two registers (16 bytes),
 * the second of which is the return address, and jumps to _dl_runtime_resolve. That function's
 * unwind information omits these 16 bytes and so points into the caller's stack frame.
 */
#define CFA_PLT_BYTES 16

bool cfa_is_behind_plt(const struct cfa_machine *machine, const struct cfa_state *s);

/* Returns the rule for a state; UNWIND_BAD if no rule can express it. */
struct unwind_rule cfa_rule(const struct cfa_machine *machine, const struct cfa_state *s,
			    bool is_signal_frame);

#endif
