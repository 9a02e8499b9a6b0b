/* SPDX-License-Identifier: GPL-2.0-only */
/* Call trees by function: each function's own value, and that including its callees. */
#ifndef FUNCTIONS_H
#define FUNCTIONS_H

#include <stdbool.h>
#include <stdio.h>

#include "output/calltree.h"

struct function {
	const char *name; /* the tree's */
	enum frame_kind kind;
	struct calltree_value self, total; /* total: recursion is counted once */
};

struct functions {
	/* sorted by the chosen value, largest first, then by the other one, then by name */
	struct function *list;
	size_t n;
};

/*
 * Makes the functions of a finished tree, which must outlive them; freed with functions_free().
 * Markers (FRAME_MARK) are not functions: their value goes to the function above them. Only stacks
 * without any function stand for themselves.
 */
struct functions *functions_new(const struct calltree *tree, bool by_total);
void functions_free(struct functions *functions);

/* Prints the first n as a table: self, total, both also in percent, and the name. */
void functions_print(FILE *f, const struct functions *functions, const struct calltree *tree,
		     size_t n, const char *unit);

#endif
