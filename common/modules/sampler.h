/* SPDX-License-Identifier: GPL-2.0-only */
/* The module that samples: one perf event per CPU with a BPF program on it. */
#ifndef SAMPLER_H
#define SAMPLER_H

#include "run/run.h"

extern const struct module sampler_module;

/* After configure: returns true if samples come by time, not by cycles. */
bool sampler_is_by_time(const struct run *run);

/* Once options are checked: most processes that live for some milliseconds have no sample. */
bool sampler_is_sparse(const struct run *run);

/* At a report that isn't the last: counts samples that were due and did not come. */
void sampler_count_missed(struct run *run);

/* Declaration of a tool that samples. */
struct sampler_spec {
	const char *program; /* program attached to the events of all sampled CPUs */
};

#endif
