/* SPDX-License-Identifier: GPL-2.0-only */
/* Folded stacks read into a call tree, and a call tree written as folded stacks. */
#ifndef FOLDED_TREE_H
#define FOLDED_TREE_H

#include <stdbool.h>
#include <stdio.h>

#include "output/calltree.h"
#include "output/name_filter.h"

enum folded_column {
	FOLDED_NOW,    /* values are the current ones */
	FOLDED_BEFORE, /* values are the earlier ones */
	FOLDED_BOTH,   /* lines have both values: BEFORE NOW */
};

struct folded_input {
	const char *path; /* name for messages */
	FILE *file;	  /* not closed */
	enum folded_column column;
	bool reverse;		   /* reverses stacks: leaf first */
	struct name_filter *names; /* filter of stacks; NULL: all stacks */
	double *left_out;	   /* total of the filtered stacks' current values */
};

/*
 * Adds a file's stacks, without calltree_finish(). Skips other lines, with a warning of their
 * number. 0 or -errno, printed: the file contains no stacks, or can't be read.
 */
int folded_tree_read(struct calltree *tree, const struct folded_input *input);

/* Options for reading a set of files. */
struct folded_set {
	bool compares; /* the first n_before files are the earlier ones; a single one has both */
	size_t n_before;
	bool reverse;
	struct name_filter *names;
};

/*
 * Adds n files and finishes the tree; no file, or "-", is standard input. Prints the share that the
 * name filters drop. 0 or -errno, printed.
 */
int folded_tree_read_files(struct calltree *tree, size_t n, char **paths,
			   const struct folded_set *set);

/* Writes the stacks of a finished tree, hottest first; two values a line if has_two_values. */
void folded_tree_write(FILE *f, const struct calltree *tree, bool has_two_values);

#endif
