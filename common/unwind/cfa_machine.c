// SPDX-License-Identifier: GPL-2.0-only
/* The two architectures; see cfa_machine.h. */
#include <elf.h>
#include <stddef.h>

#include "abi/unwind_rule.h"
#include "unwind/cfa_machine.h"

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
