/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Module of tools whose results are numbers: reports in every format of output/table.h. With
 * --format prometheus, values are totals since the start of the run, and a report replaces the
 * file.
 */
#ifndef NUMBERS_H
#define NUMBERS_H

#include "output/table.h"
#include "run/run.h"

extern const struct module numbers_module;

/* Begins a report in the run's format and file. The caller prints the time of day. */
struct table_output *numbers_begin(struct run *run);

/* Returns the run's metrics, to which each report adds its values. */
struct metrics *numbers_metrics(const struct run *run);

/* Ends a report. Writes metrics, with losses and the program's version. */
void numbers_end(struct run *run);

#endif
