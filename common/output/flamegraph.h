/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A call tree drawn as a flame graph: one self-contained SVG (SVG 1.1, W3C) with a script for zoom,
 * search and keys, readable without it. Names come from the traced side: they are escaped, and the
 * script takes them as text only.
 */
#ifndef FLAMEGRAPH_H
#define FLAMEGRAPH_H

#include <stdbool.h>
#include <stdio.h>

#include "output/calltree.h"

struct flamegraph {
	const char *title;    /* NULL: "Flame graph" */
	const char *subtitle; /* facts about the run; NULL: none */
	const char *unit;     /* unit as in a profile: "samples", "microseconds"; without a "(" */
	uint32_t width;	      /* pixels */
	double min_width;     /* narrower frames, in pixels, are merged with their siblings */
	bool inverted;	      /* roots on top: an icicle graph */
	bool leaves_first;    /* the tree's stacks begin with their leaf */
	bool differential;    /* colours show growth and shrinkage from `before` to `now` */
	/* factor that makes `before` comparable; 0: chosen so that totals are equal */
	double before_scale;
};

#define FLAMEGRAPH_DEFAULT                                         \
	{                                                          \
		.unit = "samples", .width = 1200, .min_width = 0.1 \
	}

/* Draws a finished tree. Errors are left in the stream. */
void flamegraph_write(FILE *f, const struct calltree *tree, const struct flamegraph *how);

#endif
