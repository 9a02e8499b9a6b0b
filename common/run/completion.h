/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Command lines completed for shells, from the tables of options: "tracelets --complete TOOL
 * WORD...", which the files in packaging/completion call, prints what the last word, which may be
 * empty, can become, a line each: the word and, behind a tab, what it is. A line that begins with
 * ":" says what the shell has to complete by itself: ":files", ":folders", or ":command", which is
 * all behind "--".
 */
#ifndef COMPLETION_H
#define COMPLETION_H

#include "run/opts.h"

bool completion_is_asked(int argc, char **argv);

/*
 * operands: as struct opt's `words`; NULL: nothing is known about them. The value is main()'s.
 */
int completion_print(struct opt_set *set, int argc, char **argv, const char *operands);

/*
 * A tool's line in a list of tools, for "tracelets" alone: name and summary, with `between` or, if
 * that is NULL, a column's blanks between them. The value is main()'s.
 */
int completion_print_tool(const char *name, const char *summary, const char *between);

#endif
