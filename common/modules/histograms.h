/* SPDX-License-Identifier: GPL-2.0-only */
/* The module of histogram tools: recording in bpf/hist.bpf.h, tables by key, the report. */
#ifndef HISTOGRAMS_H
#define HISTOGRAMS_H

#include <stdbool.h>

#include "output/histogram.h"
#include "run/run.h"

extern const struct module histograms_module;

/* What a tool's histograms are of: "pid = 1 comm". */
struct hist_grouping {
	const char *key;	  /* also the label of metrics */
	const char *const *names; /* by number, to be shown in its place; NULL: numbers */
	bool with_comm;		  /* the label's comm stands behind the number */
	bool with_cgroup;	  /* the path of the cgroup whose id the number is */
	bool by_container;	  /* the numbers are those of cgroups: sum them up by container */
};

/* The name and a sentence on what it is. */
struct histograms_metric {
	const char *name, *help;
};

/* What a tool declares. */
struct histograms_spec {
	struct histograms_metric metric; /* for --format prometheus */

	/* By what, once options are checked; NULL: one histogram of everything. */
	const struct hist_grouping *(*grouping)(const struct run *run);
};

/* --entries, and the time of day if -T asks for it: for what else is shown by key. */
uint32_t histograms_entries(const struct run *run);
void histograms_print_time(const struct run *run);

/* The report() of every histogram tool. */
int histograms_report(struct run *run);

#endif
