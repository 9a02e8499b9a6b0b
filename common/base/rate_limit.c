// SPDX-License-Identifier: GPL-2.0-only
/* Rate limits; see rate_limit.h. */
#include "base/rate_limit.h"

bool rate_limit_take(struct rate_limit *rate_limit, uint64_t amount, uint64_t now_ns)
{
	if (!rate_limit->filled_ns || now_ns - rate_limit->filled_ns >= rate_limit->period_ns) {
		rate_limit->left = rate_limit->amount;
		rate_limit->filled_ns = now_ns;
	}
	if (amount > rate_limit->left)
		return false;
	rate_limit->left -= amount;
	return true;
}
