/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How often the traced functions are called, and which share of a CPU that takes: the price of a
 * probe is measured on functions of this program, the time in BPF by the kernel, during the first
 * calls.
 */
#ifndef LEAK_RATE_H
#define LEAK_RATE_H

#include <stdint.h>

#include "abi/memleak.h"
#include "memleak/leak_probes.h"
#include "run/run.h"

struct leak_rate;

/* All calls up to now. */
struct memleak_counts leak_rate_counts(const struct run *run);

/*
 * After load: counts calls from now on. Above max_rate calls per second, if that isn't 0, tracing
 * ends with a message. NULL, printed, if there is no timer; free with leak_rate_free().
 */
struct leak_rate *leak_rate_new(struct run *run, uint32_t max_rate);
void leak_rate_free(struct leak_rate *rate);

/*
 * Measures the price of probes where these are, and from now on the time in BPF. NULL: the kernel
 * is traced, without probes.
 */
void leak_rate_calibrate(struct leak_rate *rate, const struct leak_probes *probes);

/* "98 calls traced, 19/s, about 0.01 % of one CPU" */
void leak_rate_print(struct leak_rate *rate);

#endif
