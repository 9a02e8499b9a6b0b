/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reports of numbers in every format of output/table.h. A tool whose results are numbers has this
 * module in its list. With --format prometheus, values are totals since the start of the run, and
 * each report replaces the file.
 */
#ifndef NUMBERS_H
#define NUMBERS_H

#include "output/table.h"
#include "run/run.h"

extern const struct module numbers_module;

/*
 * Begins a report in the run's format and file. The caller prints text that only people read, such
 * as the time of day.
 */
struct table_output *numbers_begin(struct run *run);

/* Returns the run's metrics. Each report adds the values since the report before. */
struct metrics *numbers_metrics(const struct run *run);

/* Ends a report. Metrics are written now, with losses and the version of the program. */
void numbers_end(struct run *run);

#endif
