/* SPDX-License-Identifier: GPL-2.0-only */
/* The format of a report of stacks, from the command line and who reads it. */
#ifndef STACK_FORMAT_H
#define STACK_FORMAT_H

#include "output/writer.h"
#include "run/run.h"

/*
 * The writer that -f, --format, the output's name or else the kind of standard output asks for;
 * pprof's for metrics, which are as exact. NULL: what was asked for is no format, or two at a time;
 * the reason was printed. prefers_text: also where no terminal reads it.
 */
const struct writer *stack_format_choose(const struct run *run, bool is_folded, bool prefers_text);

#endif
