/* SPDX-License-Identifier: GPL-2.0-only */
/* Options of flame: values, and checks of their combinations. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "output/flamegraph.h"
#include "output/name_filter.h"
#include "run/plain.h"

struct options {
	struct flamegraph picture;
	struct name_filter names;
	struct plain_options common;
	bool merge, table, shares;
	uint32_t top;	 /* rows of the table; 0: no table */
	double limit;	 /* --fail-over, a share; negative: not given */
	size_t n;	 /* files */
	size_t n_before; /* files of a comparison's first side */
};

/*
 * Are opt_parse_fn: "10s,1m" becomes a factor for the first recording's values, "5%" a share. A
 * unit has no "(": the picture's script takes the last one of a title as the end of the name.
 */
int options_parse_durations(const char *what, const char *text, void *dest);
int options_parse_limit(const char *what, const char *text, void *dest);
int options_parse_unit(const char *what, const char *text, void *dest);

/*
 * Parses the command line, completes `top`, and counts the files, also those before a "--". Returns
 * the index of the first file, or -EINVAL, printed.
 */
int options_parse(struct options *options, struct opt_set *set, int argc, char **argv);

#endif
