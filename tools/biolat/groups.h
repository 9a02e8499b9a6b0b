/* SPDX-License-Identifier: GPL-2.0-only */
/* Options of biolat; groups of requests, each with a histogram, and their names. */
#ifndef GROUPS_H
#define GROUPS_H

#include "abi/biolat.h"
#include "modules/histograms.h"

/* The tool's options. Disk, operation and time can be combined. */
struct groups {
	bool disk, operation, time;
	bool process, cgroup, container;
	bool bytes;	    /* sizes, not times */
	uint64_t slower_ns; /* minimum time for lines; 0: histograms */
	uint32_t device;    /* as in struct biolat_settings */
};

/* Refuses options that exclude each other: a tool's check(). */
int groups_check(struct run *run);

/* Return how BPF groups, and the parts of its keys (KEY_HAS_...). */
enum biolat_by groups_by(const struct groups *groups);
uint64_t groups_parts(const struct groups *groups);

/* Returns the name of a key's operation, with its classes: "sync write". */
const char *groups_operation(uint64_t key, char buf[HIST_TEXT_MAX]);

/* Returns the grouping; NULL for one histogram. */
const struct hist_grouping *groups_find(const struct groups *groups);

#endif
