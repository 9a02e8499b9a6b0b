/* SPDX-License-Identifier: GPL-2.0-only */
/* The rest of a report: requests that failed, were given back by the driver, or are in flight. */
#ifndef LEFTOVERS_H
#define LEFTOVERS_H

#include "run/run.h"

extern const struct module leftovers_module;

/* Reads their numbers, at the beginning of a report. 0 or -errno, printed. */
int leftovers_read(struct run *run);

/* Prints them in the run's format; metrics must precede the histograms. */
void leftovers_report(struct run *run);

#endif
