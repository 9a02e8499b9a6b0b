/* SPDX-License-Identifier: GPL-2.0-only */
/* Module for sampling: a perf event on each CPU, with a BPF program. */
#ifndef SAMPLER_H
#define SAMPLER_H

#include "run/run.h"

extern const struct module sampler_module;

/* Returns true if samples are taken by time, not by cycles. After configure. */
bool sampler_is_by_time(const struct run *run);

/* Returns true if most processes that live for a few milliseconds get no sample. After check. */
bool sampler_is_sparse(const struct run *run);

/* Counts the missed samples so far, for a report before the last one. */
void sampler_count_missed(struct run *run);

/* Declaration of a sampling tool. */
struct sampler_spec {
	const char *program; /* BPF program on the events of all sampled CPUs */
};

#endif
