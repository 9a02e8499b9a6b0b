/* SPDX-License-Identifier: GPL-2.0-only */
/* The format of a report of stacks, from the command line and who reads it. */
#ifndef STACK_FORMAT_H
#define STACK_FORMAT_H

#include "output/writer.h"
#include "run/run.h"

/*
 * Returns the writer for -f, --format, the output's name or else the kind of standard output;
 * pprof's for metrics, which are as exact. NULL: unknown format, or two formats; printed.
 * prefers_text: also if standard output is not a terminal.
 */
const struct writer *stack_format_choose(const struct run *run, bool is_folded, bool prefers_text);

#endif
