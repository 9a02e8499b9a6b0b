/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Call trees by function: a function's own value (self), and its value including callees (total).
 */
#ifndef FUNCTIONS_H
#define FUNCTIONS_H

#include <stdbool.h>
#include <stdio.h>

#include "output/calltree.h"

struct function {
	const char *name;		   /* borrowed from the tree */
	enum frame_kind kind;		   /* FRAME_KERNEL, FRAME_MARK; FRAME_USER for all others */
	struct calltree_value self, total; /* total: recursion is counted once */
};

struct functions {
	/* sorted by total or self, largest first, then by the other value, then by name */
	struct function *list;
	size_t n;
};

/*
 * Makes the functions of a finished tree, which must outlive the result; freed with
 * functions_free(). A marker's value (FRAME_MARK) goes to its caller function; only in stacks
 * without any function, markers count as functions. CALLTREE_MERGED is a function. by_total: sorts
 * by total.
 */
struct functions *functions_new(const struct calltree *tree, bool by_total);
void functions_free(struct functions *functions);

/* Prints the first n as a table: self, total, both also in percent, and the name. */
void functions_print(FILE *f, const struct functions *functions, const struct calltree *tree,
		     size_t n, const char *unit);

#endif
