/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * biolat's options, the BPF programs that they need, and groups of requests, which have a histogram
 * and a name each.
 */
#ifndef GROUPS_H
#define GROUPS_H

#include "abi/biolat.h"
#include "modules/histograms.h"

/* A disk or partition. All zero: none. */
struct disk {
	uint32_t number;  /* the kernel's device number */
	const char *name; /* as on the command line; borrowed */
};

/* The tool's options. Disk, operation and time can be combined. */
struct groups {
	bool disk, operation, time;
	bool process, cgroup, container;
	bool bytes;	    /* measure sizes, not times */
	uint64_t slower_ns; /* --slower: minimum time to print; 0: histograms */
	struct disk device; /* the only traced device; all zero: all devices */
	bool top;	    /* --layer top: bios at the top, not requests */
	bool stacks;	    /* --stacks: time by stack, or lines with stacks */
};

/* Returns true if --stacks is given, or an option or a format that only stacks have. */
bool groups_want_stacks(const struct run *run);

/* Return true if the report is lines of single requests; or times by stack. */
bool groups_want_lines(const struct run *run);
bool groups_are_stacks(const struct run *run);

/* An opt_parse_fn: finds the device with this name ("sda1", "/dev/sda1"; dest: struct disk). */
int groups_parse_disk(const char *what, const char *text, void *dest);

/* An opt_parse_fn of --layer (dest: bool top). */
int groups_parse_layer(const char *what, const char *text, void *dest);

/* The tool's check(): rejects options that exclude each other. */
int groups_check(struct run *run);

/* The tool's configure(): BPF's settings, and the programs that the run needs. */
int groups_configure(struct run *run);

/* Returns the name of a key's operation, with its classes: "sync write". */
const char *groups_operation(uint64_t key, char buf[HIST_TEXT_MAX]);

/* Returns the grouping; NULL: a single histogram. */
const struct hist_grouping *groups_find(const struct groups *groups);

#endif
