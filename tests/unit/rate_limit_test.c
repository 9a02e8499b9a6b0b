// SPDX-License-Identifier: GPL-2.0-only
/* How much may be done in which time. */
#include "base/rate_limit.h"
#include "unit.h"

TEST(what_is_spent_comes_again_with_time)
{
	struct rate_limit a = { .amount = 8, .period_ns = 100 };

	CHECK(rate_limit_take(&a, 5, 10));
	CHECK(!rate_limit_take(&a, 4, 20));
	CHECK(rate_limit_take(&a, 3, 30)); /* what is smaller may still fit */
	CHECK(!rate_limit_take(&a, 1, 109));
	CHECK(rate_limit_take(&a, 8, 110));
	CHECK(!rate_limit_take(&a, 1, 200));
}

TEST(what_was_not_used_is_not_saved)
{
	struct rate_limit a = { .amount = 8, .period_ns = 100 };

	CHECK(rate_limit_take(&a, 1, 10));
	CHECK(!rate_limit_take(&a, 9, 1000));
	CHECK(rate_limit_take(&a, 8, 1000));
	CHECK(!rate_limit_take(&a, 1, 1000));
}
