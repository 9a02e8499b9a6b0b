/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A call tree drawn as a flame graph: one self-contained SVG (SVG 1.1, W3C) with a script for zoom,
 * search and keys, readable without the script. Names come from traced programs, so they are
 * escaped, and the script handles them as text only.
 */
#ifndef FLAMEGRAPH_H
#define FLAMEGRAPH_H

#include <stdbool.h>
#include <stdio.h>

#include "output/calltree.h"

struct flamegraph {
	const char *title;    /* NULL: "Flame graph" */
	const char *subtitle; /* facts about the run; NULL: none */
	const char *unit;     /* unit of values: "samples", "microseconds"; without a "(" */
	uint32_t width;	      /* width of the picture, pixels */
	double min_width;     /* pixels; narrower frames are merged with narrow siblings */
	size_t name_max;      /* bytes; longer names lack their middle; 0: unlimited */
	bool in_html;	      /* in an HTML page: handles keys once the pointer has been over it */
	bool inverted;	      /* roots on top: an icicle graph */
	bool leaves_first;    /* the tree's stacks are reversed: leaf first */
	bool differential;    /* colours show growth and shrinkage from `before` to `now` */
	/* factor for `before`; 0: the factor that makes the totals equal */
	double before_scale;
};

#define FLAMEGRAPH_DEFAULT                                         \
	{                                                          \
		.unit = "samples", .width = 1200, .min_width = 0.1 \
	}

/*
 * Draws a finished tree. Write errors stay in the stream (ferror(3)). The script's table of frames
 * has callers first, from left to right.
 */
void flamegraph_write(FILE *f, const struct calltree *tree, const struct flamegraph *how);

/* Returns the picture's height in pixels. */
double flamegraph_height(const struct calltree *tree, const struct flamegraph *how);

/* Adds a line below the subtitle of a complete picture. */
void flamegraph_note(FILE *f, const char *reason, const char *moment);

#endif
