/* SPDX-License-Identifier: GPL-2.0-only */
/* DWARF's view of an architecture: psABI AMD64 1.0, 3.6.2; AADWARF64, 4.1. */
#ifndef CFA_MACHINE_H
#define CFA_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

/* The first of several with the same number counts: on arm64 x30 is the return address. */
enum cfa_register { CFA_REG_RA, CFA_REG_SP, CFA_REG_BP, CFA_REG_EXTRA, CFA_REGS };

struct cfa_machine {
	uint16_t e_machine;
	uint8_t numbers[CFA_REGS]; /* of registers */
	uint8_t n_registers;	   /* those that a rule can name are below */
	uint8_t bp_shift;	   /* unit of unwind_rule.bp_off, as a shift of bytes */
	bool signs_addresses;	   /* DW_CFA_AARCH64_negate_ra_state is known */
	bool needs_extra;	   /* each rule says where the extra register is */
};

/* By e_machine; NULL: another one. */
const struct cfa_machine *cfa_machine(uint16_t e_machine);

#endif
