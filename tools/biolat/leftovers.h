/* SPDX-License-Identifier: GPL-2.0-only */
/* What a report has besides histograms: requests that failed, were given back, or are in flight. */
#ifndef LEFTOVERS_H
#define LEFTOVERS_H

#include "run/run.h"

extern const struct module leftovers_module;

/* Reads them: at the beginning of a report. 0 or -errno, printed. */
int leftovers_read(struct run *run);

/* Prints them in the run's format; as metrics, before the histograms are. */
void leftovers_report(struct run *run);

#endif
