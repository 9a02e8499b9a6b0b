/* SPDX-License-Identifier: GPL-2.0-only */
/* Tools that load no BPF programs: their command line, help and exit status. */
#ifndef PLAIN_H
#define PLAIN_H

#include <stdbool.h>

#include "run/opts.h"

/* Options that these tools have in common. */
struct plain_options {
	const char *output; /* --output; NULL: standard output */
	bool quiet, want_help, want_version;
};

struct plain_tool {
	const char *name, *summary;
	const char *usage;    /* operands: "[FILE...]"; "": none */
	const char *examples; /* lines of "  command  # meaning" */
	const char *usual;    /* long names of the options that -h prints */
	const struct opt *opts;
	void *options; /* struct that opts are members of */
	struct plain_options *common;
	int (*parse)(struct opt_set *set, int argc, char **argv); /* as opts_parse() */
	int (*run)(char **operands);				  /* returns the exit status */
};

/* Runs a tool; its main(). argc 0: prints its line in a list of tools. */
int plain_main(const struct plain_tool *tool, int argc, char **argv);

#endif
