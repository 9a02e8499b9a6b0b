/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Command lines as tables: an option has a letter, a long name, the struct member for its value,
 * and a help text; parsing, range checks and --help follow from the table.
 *
 *	struct options { uint32_t frequency_hz; };
 *
 *	static const struct opt opts[] = {
 *		{ 'F', "frequency", "HZ", OPT_UINT(struct options, frequency_hz, 1, 9999), "..." },
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
	OPT_TYPE_LIST,
};

/* Parses text into the member dest. 0 or -EINVAL, printed. what: the option, for messages. */
typedef int opt_parse_fn(const char *what, const char *text, void *dest);

struct opt {
	char letter;	  /* letter; 0: none */
	const char *name; /* long name; NULL ends a table */
	const char *arg;  /* the argument's name in --help; NULL: no argument */
	enum opt_type type;
	size_t offset;	   /* offset of the value in the section's struct */
	uint64_t min, max; /* range of a UINT; DURATION: min is the default unit, ns */
	opt_parse_fn *parse;
	const char *help;     /* NULL: a former name, which --help does not list */
	const char *excludes; /* long name of an option that can't be given with this one */
};

/* The compiler warns if the member's type is not ctype. */
#define OPT_OFFSET(ctype, type, member) \
	(offsetof(type, member) + 0 * sizeof(1 ? &((type *)0)->member : (ctype *)0))
#define OPT_FLAG(type, member) OPT_TYPE_FLAG, OPT_OFFSET(bool, type, member), 0, 0, NULL
#define OPT_UINT(type, member, min, max) \
	OPT_TYPE_UINT, OPT_OFFSET(uint32_t, type, member), min, max, NULL
#define OPT_DURATION(type, member, unit_ns) \
	OPT_TYPE_DURATION, OPT_OFFSET(uint64_t, type, member), unit_ns, 0, NULL

#define OPT_SIZE(type, member)	 OPT_TYPE_SIZE, OPT_OFFSET(uint64_t, type, member), 0, 0, NULL
#define OPT_STRING(type, member) OPT_TYPE_STRING, OPT_OFFSET(const char *, type, member), 0, 0, NULL

#define OPT_PARSED(type, member, parse_fn) OPT_TYPE_PARSED, offsetof(type, member), 0, 0, parse_fn

/* May be repeated: each argument is added to the value. */
#define OPT_LIST(type, member, parse_fn) OPT_TYPE_LIST, offsetof(type, member), 0, 0, parse_fn

#define OPT_MAX		 96
#define OPT_MAX_SECTIONS 12

/* A section of --help: a table of options, and the struct that receives their values. */
struct opt_section {
	const char *title;
	const struct opt *opts; /* NULL: none */
	void *values;
};

/* A letter that one tool assigns to an option common to all tools. */
struct opt_letter {
	char letter;
	const char *name;
};

/* A tool's line in a list of tools: its name and summary. */
#define TOOL_LINE "  %-12s %s\n"

struct opt_set {
	struct opt_section sections[OPT_MAX_SECTIONS];
	size_t n_sections;
	char tid_letter; /* the tool's own letter for --tid; 0: none */
	/* further letters, terminated by an entry without one; NULL: none */
	const struct opt_letter *letters;

	/* Filled by opts_parse(): the options of all sections. */
	struct opt_use {
		const struct opt *opt;
		void *value;	  /* location of the value */
		const char *text; /* argument given last; NULL: none */
		bool is_given, by_letter;
	} uses[OPT_MAX];
	size_t n_uses;
};

/*
 * Parses options; operands may stand between them, and "--" ends them. Permutes argv so that the
 * operands come last. Returns the index of the first operand, or -EINVAL, printed.
 */
int opts_parse(struct opt_set *set, int argc, char **argv);

/* Returns true if the option with this long name was given. After opts_parse(). */
bool opts_given(const struct opt_set *set, const char *name);

/*
 * Returns true if the option was given by its letter (-h prints less than --help). After
 * opts_parse().
 */
bool opts_given_by_letter(const struct opt_set *set, const char *name);

/* Prints an error if one of these options was given: it has no effect "with --x". 0 or -EINVAL. */
int opts_refuse(const struct opt_set *set, const char *const names[], const char *where);

/* Prints all options on stdout, section by section, in 80 columns. */
void opts_print_help(const struct opt_set *set);

/* Prints the options with these long names ("pid top"), for -h of command. After opts_parse(). */
void opts_print_brief(const struct opt_set *set, const char *command, const char *names);

#endif
