/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * --format prometheus, for tools whose results are numbers: totals since the start of the run, for
 * a scraper. With --output, one file that each report replaces. Such a tool has this module in its
 * list, and its report() looks at run->is_metrics.
 */
#ifndef EXPOSITION_H
#define EXPOSITION_H

#include "output/metrics.h"
#include "run/run.h"

extern const struct module exposition_module;

/* Returns the run's metrics: a report adds the difference to the one before, at run->end_ns. */
struct metrics *exposition_metrics(const struct run *run);

/* Ends a report: writes all metrics, with losses and the program's version. */
void exposition_write(struct run *run);

#endif
