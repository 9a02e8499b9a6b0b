/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Folded stacks, as our tools and the stackcollapse programs write them: lines "root;...;leaf
 * VALUE". The suffixes _[k], _[i], _[j], and async-profiler's _[0] and _[1], denote a frame's
 * kind. Values may be fractions: 0.25, 1e-3.
 */
#ifndef FOLDED_H
#define FOLDED_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "output/profile.h"

#define FOLDED_MAX_FRAMES   4096
#define FOLDED_MAX_DECIMALS 19

struct folded_frame {
	char *name; /* name without its suffix */
	enum frame_kind kind;
};

/* A value: digits * 10^-decimals, with at most FOLDED_MAX_DECIMALS decimals. */
struct folded_number {
	uint64_t digits;
	unsigned int decimals;
};

struct folded_line {
	struct folded_frame
		frames[FOLDED_MAX_FRAMES]; /* root first; names valid until the next line */
	size_t n_frames;
	struct folded_number value;
	struct folded_number before; /* first value of lines with two, else 0 */
};

struct folded_reader {
	FILE *file;
	bool has_two_values; /* lines are "stack BEFORE NOW", as folded differences */
	uint64_t lines;	     /* lines read so far, blank ones and comments too */
	uint64_t refused;    /* number of lines that are not folded stacks */
	uint64_t first_refused;
	bool is_rounded; /* fractions were rounded */
	char *text;	 /* line buffer of getline(3) */
	size_t text_size;
};

/* Open and close a reader of an open file; closing the reader doesn't close the file. */
void folded_open(struct folded_reader *reader, FILE *file, bool has_two_values);
void folded_close(struct folded_reader *reader);

/* Counts the current line as refused. */
void folded_refuse(struct folded_reader *reader);

/*
 * Reads the next stack. Counts and skips other lines, but ignores blank lines and comments, which
 * begin with "#" and contain no ";": a thread may be named "#1" or "# ". False at the end, or after
 * a read error, which stays in the file (ferror(3)).
 */
bool folded_read(struct folded_reader *reader, struct folded_line *line);

/* Writes a stack's first name, escaped also so that its line is not a comment. */
void folded_print_root(FILE *f, const char *name);

#endif
