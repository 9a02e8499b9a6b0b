// SPDX-License-Identifier: GPL-2.0-only
/* What debuginfod's servers are asked. */
#include "symbols/debuginfod.h"
#include "unit.h"

#define MANY 5000

static bool was_asked(uint32_t id)
{
	return debuginfod_was_asked((const uint8_t *)&id, sizeof(id));
}

TEST(nobody_is_asked_twice_but_after_thousands_of_others)
{
	int n = 0;

	CHECK(!was_asked(1));
	CHECK(was_asked(1));
	for (uint32_t id = 2; id < MANY; id++)
		n += was_asked(id);
	CHECK_EQ(n, 0);
	CHECK(was_asked(MANY - 1));
	CHECK(!was_asked(1));
	CHECK(was_asked(1));
}
