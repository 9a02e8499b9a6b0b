/* SPDX-License-Identifier: GPL-2.0-only */
/* How often the traced functions are called. */
#ifndef LEAK_RATE_H
#define LEAK_RATE_H

#include <stdint.h>

#include "abi/memleak.h"
#include "run/run.h"

struct leak_rate;

/*
 * After load: counts calls from now on. Above max_rate calls per second, if that isn't 0, tracing
 * ends with a message. NULL, printed, if there is no timer; free with leak_rate_free().
 */
struct leak_rate *leak_rate_new(struct run *run, uint32_t max_rate);
void leak_rate_free(struct leak_rate *rate);

/* "98 calls traced, 19/s" */
void leak_rate_print(const struct leak_rate *rate);

#endif
