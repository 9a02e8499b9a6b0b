/* SPDX-License-Identifier: GPL-2.0-only */
/* Work of which so much may be done in a time: what others ask for costs no more than that. */
#ifndef RATE_LIMIT_H
#define RATE_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

struct rate_limit {
	uint64_t amount, period_ns;
	uint64_t left, filled_ns; /* 0: not yet */
};

/* Returns true if the rate limit permits amount now, and charges it. */
bool rate_limit_take(struct rate_limit *rate_limit, uint64_t amount, uint64_t now_ns);

#endif
