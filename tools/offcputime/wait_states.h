/* SPDX-License-Identifier: GPL-2.0-only */
/* --state: the states of counted waits; and metrics of waits. */
#ifndef WAIT_STATES_H
#define WAIT_STATES_H

#include <stdint.h>

#include "output/profile.h"
#include "run/run.h"

/*
 * Adds a report's waits to the metrics and writes them: seconds, by thread state and part. The
 * first column of the waits is the runnable part.
 */
void wait_metrics_add(struct run *run, const struct profile *profile);

struct wait_states {
	uint32_t letters; /* bit i: letter i of STATE_LETTERS (bpf/abi/waits.h) */
	uint32_t mask;	  /* the kernel's state bits that are wanted; 0: any */
};

/* An opt_parse_fn: letters of ps(1), or a mask of the kernel's state bits; 0: runnable. */
int wait_states_parse(const char *what, const char *text, void *dest);

#endif
