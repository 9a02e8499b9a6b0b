/* SPDX-License-Identifier: GPL-2.0-only */
/* The module of histogram tools: recording in bpf/hist.bpf.h, tables by key, the report. */
#ifndef HISTS_H
#define HISTS_H

#include <stdbool.h>

#include "hist.h"
#include "tool.h"

extern const struct module hists_module;

/* What a tool's histograms are of: "pid = 1 comm". */
struct hist_grouping {
	const char *key;
	bool with_comm;	  /* the label's comm stands behind the number */
	bool with_cgroup; /* the path of the cgroup whose id the number is */
};

/* From a tool's check(): by key (NULL: one histogram of all). */
void hists_set_grouping(const struct hist_grouping *grouping);

/* The report() of every histogram tool. */
int hists_report(struct run *run);

#endif
