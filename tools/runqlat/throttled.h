/* SPDX-License-Identifier: GPL-2.0-only */
/* --throttled: waits caused by CPU quotas, separate from the rest (bpf/sched/throttle.bpf.h). */
#ifndef THROTTLED_H
#define THROTTLED_H

#include "modules/histograms.h"
#include "run/run.h"

/* State, map and program that only this option needs. */
extern const struct module throttled_module;

/* Names of the values of enum runqlat_cause. */
extern const char *const throttled_causes[];

/* Prints number and throttled time of throttled waits. CSV has only the histograms. */
void throttled_conclude(struct run *run, struct table_output *to, const struct hist_list *list);

#endif
