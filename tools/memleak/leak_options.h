/* SPDX-License-Identifier: GPL-2.0-only */
/* memleak's options. */
#ifndef LEAK_OPTIONS_H
#define LEAK_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

struct leak_options {
	bool trace;	    /* -t: print each call */
	bool show_blocks;   /* -a: print each block */
	bool combined_only; /* print totals only, without ages */
	bool percpu;	    /* trace only the kernel's per-CPU memory */
	bool growth;	    /* show only stacks that keep growing */
	bool by_count;	    /* --sort count */
	uint64_t min_age_ns;
	uint64_t min_bytes, max_bytes;
	uint32_t sample, top, n_blocks, max_rate;
	uint32_t duty_percent; /* share of time in which allocations are probed; 0: always */
	const char *object, *prefix;
	char **command; /* -c, as an array of words; NULL: not given */
};

#endif
