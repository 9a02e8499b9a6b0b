/* SPDX-License-Identifier: GPL-2.0-only */
/* Work of which so much may be done in a time: what others ask for costs no more than that. */
#ifndef ALLOWANCE_H
#define ALLOWANCE_H

#include <stdbool.h>
#include <stdint.h>

struct allowance {
	uint64_t amount, period_ns;
	uint64_t left, filled_ns; /* 0: not yet */
};

/* Returns true if the rate limit permits amount now, and charges it. */
bool allowance_take(struct allowance *allowance, uint64_t amount, uint64_t now_ns);

#endif
