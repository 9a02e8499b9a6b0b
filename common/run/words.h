/* SPDX-License-Identifier: GPL-2.0-only */
/* Words that a shell may complete a command line with; see completion.h. */
#ifndef WORDS_H
#define WORDS_H

#include <stdio.h>

#define WORDS_MAX 16384 /* more are left out: nobody reads such a list */

struct words {
	const char *typed;    /* what a word must begin with */
	char *before;	      /* stands before it in what the shell takes for the word */
	const char *by_shell; /* ":files", ":folders" or ":command"; NULL: nothing of that */
	struct word {
		char *text, *about;
	} * list;
	size_t n, cap;
};

/* typed: kept by the caller; before: copied. */
void words_init(struct words *words, const char *before, size_t before_bytes, const char *typed);
void words_free(struct words *words);

/*
 * Adds a word if it begins with what was typed, with what it is or NULL. Both may come from the
 * traced side: a word that a terminal can't show is left out, and of what it is such parts are
 * escaped.
 */
void words_add(struct words *words, const char *text, const char *about);

/* Each of a row of words with blanks between, or one for the shell, such as ":files". */
void words_add_row(struct words *words, const char *row);

/* Sorted, each once, "word\tabout" or "word" a line; what the shell does itself comes first. */
void words_print(FILE *f, struct words *words);

#endif
