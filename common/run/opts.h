/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Command lines as tables: an option names its letter, its long name, where its value goes and what
 * it means; parsing, range checks and --help follow from the table.
 *
 *	static const struct opt opts[] = {
 *		{ 'F', "frequency", "HZ", OPT_UINT(&frequency_hz, 1, 9999), "samples per second" },
 *		{},
 *	};
 */
#ifndef OPTS_H
#define OPTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum opt_type {
	OPT_TYPE_FLAG,
	OPT_TYPE_UINT,
	OPT_TYPE_DURATION,
	OPT_TYPE_SIZE,
	OPT_TYPE_STRING,
	OPT_TYPE_PARSED,
};

/* Reads text into dest; prints the reason and returns -EINVAL if it can't. what: the option. */
typedef int opt_parse_fn(const char *what, const char *text, void *dest);

struct opt {
	char letter;	  /* 0: none */
	const char *name; /* long name; NULL ends a table */
	const char *arg; /* what --help calls its argument; NULL: takes none; see below for "[N]" */
	enum opt_type type;
	void *dest;
	uint64_t min, max; /* of a UINT; min is a DURATION's unit in ns */
	opt_parse_fn *parse;
	const char *help;
	const char *excludes; /* long name of an option that can't be given with this one */
};

/*
 * Behind a long name, an argument in brackets may be left out, so that the next word is taken for
 * it only if it begins with a digit; parse() gets NULL then. A letter always has one.
 */

/* dest must have the type named; a wrong one is a compiler's warning. */
#define OPT_DEST(ctype, dest)	    (1 ? (dest) : (ctype *)NULL)
#define OPT_FLAG(dest)		    OPT_TYPE_FLAG, OPT_DEST(bool, dest), 0, 0, NULL
#define OPT_UINT(dest, min, max)    OPT_TYPE_UINT, OPT_DEST(uint32_t, dest), min, max, NULL
#define OPT_DURATION(dest, unit_ns) OPT_TYPE_DURATION, OPT_DEST(uint64_t, dest), unit_ns, 0, NULL
#define OPT_SIZE(dest)		    OPT_TYPE_SIZE, OPT_DEST(uint64_t, dest), 0, 0, NULL
#define OPT_STRING(dest)	    OPT_TYPE_STRING, OPT_DEST(const char *, dest), 0, 0, NULL
#define OPT_PARSED(parse_fn, dest)  OPT_TYPE_PARSED, dest, 0, 0, parse_fn

#define OPT_MAX 96

/* All tables of a command line, in the order of --help. */
struct opt_section {
	const char *title;
	const struct opt *opts;
};

/* A letter that one tool gives to an option that all tools have. */
struct opt_letter {
	char letter;
	const char *name;
};

struct opt_set {
	const struct opt_section *sections;
	size_t n_sections;
	char tid_letter;		  /* the tool's own letter for --tid; 0: none */
	const struct opt_letter *letters; /* for others, up to one without a letter; NULL: none */
};

/*
 * Parses options up to the first operand that follows them all or "--"; operands may stand between
 * options. Returns the index in argv of the first operand (argv is permuted), or -EINVAL after
 * having printed why.
 */
int opts_parse(const struct opt_set *set, int argc, char **argv);

/* True if an option of that long name was given in the last opts_parse(). */
bool opts_given(const char *name);

/* The options of --help on stdout, section by section. */
void opts_print_help(const struct opt_set *set);

#endif
