/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The module of memleak: which functions are probed in which processes, the table of live blocks,
 * and the reports. Which mode: with a target its allocators in user space, else the kernel's.
 */
#ifndef LEAKS_H
#define LEAKS_H

#include <stdbool.h>
#include <stdint.h>

#include "run/tool.h"

struct leak_options {
	bool trace;	    /* -t: every call */
	bool show_blocks;   /* -a */
	bool combined_only; /* no ages */
	bool percpu;	    /* the kernel's per-CPU memory instead of the rest */
	bool growth;	    /* only what keeps growing */
	bool by_count;	    /* --sort count */
	uint64_t min_age_ns;
	uint64_t min_bytes, max_bytes;
	uint32_t sample, top, n_blocks, max_rate;
	const char *object, *prefix;
};

extern struct leak_options leak_options;
extern const struct module leaks_module;

/* -c: a command in one word. An opt_parse_fn. */
int leaks_parse_command(const char *what, const char *text, void *dest);

/* The tool's start() and report(). */
int leaks_start(struct run *run);
int leaks_report(struct run *run);

#endif
