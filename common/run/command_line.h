/* SPDX-License-Identifier: GPL-2.0-only */
/* The command line of every tool: its own options, its modules' and those of all tools. */
#ifndef COMMAND_LINE_H
#define COMMAND_LINE_H

#include "run/run.h"

/*
 * Parses argv into the run, its tool's options and its modules' structs, and calls their check().
 * Checks nothing if help or the version is requested. 0 or -EINVAL, printed.
 */
int command_line_parse(struct run *run, int argc, char **argv);

/* Prints --help or -h. command: name that the tool was called by, such as "tl-runqlat". */
void command_line_print_help(const struct run *run, const char *command);

#endif
