/* SPDX-License-Identifier: GPL-2.0-only */
/* Second part of a report: requests that failed, were requeued by the driver, or are in flight. */
#ifndef LEFTOVERS_H
#define LEFTOVERS_H

#include "run/run.h"

extern const struct module leftovers_module;

/* Reads the numbers of these requests, to begin a report. Returns 0, or -errno, printed. */
int leftovers_read(struct run *run);

/* Prints the numbers in the run's format; metrics must precede the histograms. */
void leftovers_report(struct run *run);

#endif
