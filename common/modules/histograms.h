/* SPDX-License-Identifier: GPL-2.0-only */
/* The module of histogram tools: recording in bpf/hist.bpf.h, tables by key, the report. */
#ifndef HISTS_H
#define HISTS_H

#include <stdbool.h>

#include "output/histogram.h"
#include "run/tool.h"

extern const struct module hists_module;

/* What a tool's histograms are of: "pid = 1 comm". */
struct hist_grouping {
	const char *key;
	const char *const *names; /* by number, to be shown in its place; NULL: numbers */
	bool with_comm;		  /* the label's comm stands behind the number */
	bool with_cgroup;	  /* the path of the cgroup whose id the number is */
};

/* From a tool's check(): by key (NULL: one histogram of all). */
void hists_set_grouping(const struct hist_grouping *grouping);

/* From a tool's check(): there will be no histogram, but what else the tool can show. */
void hists_leave_out(void);

/* --entries, and the time of day if -T asks for it: for what else is shown by key. */
uint32_t hists_entries(void);
void hists_print_time(FILE *f);

/* The report() of every histogram tool. */
int hists_report(struct run *run);

#endif
