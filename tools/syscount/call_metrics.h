/* SPDX-License-Identifier: GPL-2.0-only */
/* Counted calls as metrics: --format prometheus. */
#ifndef CALL_METRICS_H
#define CALL_METRICS_H

#include "output/metrics.h"
#include "run/run.h"
#include "syscount/calltable.h"

/* Metrics of one layout, which is made once: labels are those of its rows. */
struct call_metrics {
	struct metric calls, seconds;
};

/* Adds the table's calls to the run's metrics, and writes them all. */
void call_metrics_report(struct run *run, struct call_metrics *metrics,
			 const struct call_layout *layout, struct calltable *table);

#endif
