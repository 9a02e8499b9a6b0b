/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DWARF expressions (DWARF 5, 2.5) in call frame information. They are not evaluated but compared
 * with the few forms that compilers, linkers and libraries for x86-64 use; what else there is would
 * need a machine in the kernel, for less than one row in ten thousand.
 */
#ifndef CFA_EXPR_H
#define CFA_EXPR_H

#include "abi/unwind_rule.h"
#include "elf/dwarf_read.h"

/* *reg and *off if all the expression says is "reg + off". */
bool cfa_expr_is_sum(struct cursor expr, uint64_t *reg, int64_t *off);

/*
 * Returns the rule that stands for the expression: UNWIND_PLT, UNWIND_SP_DEREF, UNWIND_BP_DEREF,
 * with nothing said of rbp; else UNWIND_BAD.
 */
struct unwind_rule cfa_expr_rule(struct cursor expr);

#endif
