/* SPDX-License-Identifier: GPL-2.0-only */
/* The module of histogram tools: recording in bpf/hist.bpf.h, tables by key, the report. */
#ifndef HISTS_H
#define HISTS_H

#include <stdbool.h>

#include "hist.h"
#include "tool.h"

extern const struct module hists_module;

/* How the keys of a tool's histograms are called: prints "pid = 1 comm" or the like. */
typedef void hist_title_fn(FILE *f, uint64_t id, const char *comm);

/* From a tool's check(): by key, with these titles (NULL: one histogram of all). */
void hists_set_title(hist_title_fn *title);

/* The report() of every histogram tool. */
int hists_report(struct run *run);

#endif
