/* SPDX-License-Identifier: GPL-2.0-only */
/* Limits the work per period that requests from outside can cause. */
#ifndef RATE_LIMIT_H
#define RATE_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

struct rate_limit {
	uint64_t amount, period_ns;
	uint64_t left, filled_ns; /* rest of amount, and start of the period; 0: none yet */
};

/* Returns true, and charges amount, if the limit of the current period permits it. */
bool rate_limit_take(struct rate_limit *rate_limit, uint64_t amount, uint64_t now_ns);

#endif
