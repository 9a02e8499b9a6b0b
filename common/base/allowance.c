// SPDX-License-Identifier: GPL-2.0-only
/* A rate limit; see its header. */
#include "base/allowance.h"

bool allowance_take(struct allowance *allowance, uint64_t amount, uint64_t now_ns)
{
	if (!allowance->filled_ns || now_ns - allowance->filled_ns >= allowance->period_ns) {
		allowance->left = allowance->amount;
		allowance->filled_ns = now_ns;
	}
	if (amount > allowance->left)
		return false;
	allowance->left -= amount;
	return true;
}
