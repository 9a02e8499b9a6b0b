/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Call frame information for one code address, and the unwind rule made of it: the CFA, and the
 * caller's values of the few registers that finding callers needs.
 */
#ifndef CFA_RULE_H
#define CFA_RULE_H

#include "abi/unwind_rule.h"
#include "unwind/cfa_machine.h"

enum cfa_place_kind {
	PLACE_SAME, /* also: nothing was said */
	PLACE_UNDEFINED,
	PLACE_AT_CFA, /* saved at CFA + off */
	PLACE_IS_CFA, /* is CFA + off */
	PLACE_AT_REG, /* saved at reg + off */
	PLACE_IN_REG, /* is in reg */
	PLACE_OTHER,
};

/* Location of the caller's value of a register. */
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

/*
 * arm64: whether that is code which a PLT has jumped to after it pushed two registers, the second
 * of which is the return address, and which doesn't count them: glibc's _dl_runtime_resolve. The
 * return address is in the caller's part of the stack then, by what is said.
 */
#define CFA_PLT_BYTES 16

bool cfa_is_behind_plt(const struct cfa_machine *machine, const struct cfa_state *s);

/* UNWIND_BAD if there is none. */
struct unwind_rule cfa_rule(const struct cfa_machine *machine, const struct cfa_state *s,
			    bool is_signal_frame);

#endif
