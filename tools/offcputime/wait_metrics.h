/* SPDX-License-Identifier: GPL-2.0-only */
/* The total of waits for servers of metrics: seconds, by the state of the thread and the part. */
#ifndef WAIT_METRICS_H
#define WAIT_METRICS_H

#include "output/profile.h"
#include "run/run.h"

/* Adds a report's waits, whose first column is the runnable part, and writes the metrics. */
void wait_metrics_add(struct run *run, const struct profile *profile);

#endif
