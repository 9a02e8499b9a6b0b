/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Parts that a user stack lacks because of code that was made at run time, or that has no unwind
 * information: callers, or names.
 */
#ifndef STACK_FLAW_H
#define STACK_FLAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/stack.h"
#include "process/processes.h"
#include "runtimes/runtime.h"
#include "stacks/place.h"

struct stack_flaw {
	enum {
		FLAW_NONE,
		FLAW_CUT,     /* its outermost frames are missing */
		FLAW_UNNAMED, /* it is whole, but has code without names */
	} kind;
	const struct runtime *runtime; /* that made code in it; NULL: there is none, or not known */
	bool has_names;	  /* of all code made at run time: there is a perf map or a jitdump */
	const char *file; /* has no unwind information; NULL: it is code made at run time */
	int err;	  /* negative errno: the file could not be opened */
};

/*
 * Finds the flaw of a user stack whose n native locations are known, leaf first. The file's name is
 * the location's, see usyms_dso_name().
 */
struct stack_flaw stack_flaw_find(struct processes *processes, const struct stack_def *def,
				  const struct place *places, uint32_t n);

#endif
