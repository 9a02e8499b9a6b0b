/* SPDX-License-Identifier: GPL-2.0-only */
/* Folded stacks read into a call tree, and a call tree written as folded stacks. */
#ifndef FOLDED_TREE_H
#define FOLDED_TREE_H

#include <stdbool.h>
#include <stdio.h>

#include "output/calltree.h"
#include "output/name_filter.h"

enum folded_column {
	FOLDED_NOW,    /* values count as now */
	FOLDED_BEFORE, /* ... as before */
	FOLDED_BOTH,   /* two values on each line: before and now */
};

struct folded_input {
	const char *path; /* for messages */
	FILE *file;	  /* stays the caller's */
	enum folded_column column;
	bool reverse;		   /* leaf first: callees become the callers */
	struct name_filter *names; /* NULL: every stack is taken */
	double *left_out;	   /* total of filtered values, without the earlier ones */
};

/*
 * Adds a file's stacks; the tree is not finished. Other lines are skipped and counted in a warning;
 * a file without stacks, or one that can't be read, is an error, printed. 0 or -errno.
 */
int folded_tree_read(struct calltree *tree, const struct folded_input *input);

/* Options for reading a set of files. */
struct folded_set {
	bool compares; /* the first of two files is the earlier one; a single one has both values */
	bool reverse;
	struct name_filter *names;
};

/*
 * Adds n files and finishes the tree; none, or "-", is standard input. Prints the share that the
 * name filters drop. 0 or -errno.
 */
int folded_tree_read_files(struct calltree *tree, size_t n, char **paths,
			   const struct folded_set *set);

/* Writes the stacks of a finished tree, hottest first; two values a line if has_two_values. */
void folded_tree_write(FILE *f, const struct calltree *tree, bool has_two_values);

#endif
