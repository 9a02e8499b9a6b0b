// SPDX-License-Identifier: GPL-2.0-only
/* Values for people: the right unit, no digit that isn't known, nothing cut. */
#include <stdint.h>

#include "output/quantity.h"
#include "unit.h"

static const char *format(uint64_t value, const char *unit)
{
	static char buf[QUANTITY_MAX];

	return quantity_format(buf, value, unit);
}

TEST(counts_have_their_thousands_apart)
{
	CHECK_STR(format(0, "samples"), "0 samples");
	CHECK_STR(format(1, "samples"), "1 sample");
	CHECK_STR(format(999, "samples"), "999 samples");
	CHECK_STR(format(1000, "faults"), "1,000 faults");
	CHECK_STR(format(UINT64_MAX, "waits"), "18,446,744,073,709,551,615 waits");
}

TEST(times_and_sizes_are_scaled)
{
	CHECK_STR(format(999, "microseconds"), "999 us");
	CHECK_STR(format(1500, "microseconds"), "1.50 ms");
	CHECK_STR(format(12345678, "microseconds"), "12.3 s");
	CHECK_STR(format(7, "nanoseconds"), "7 ns");
	CHECK_STR(format(3600ULL * 1000 * 1000 * 1000, "nanoseconds"), "3600 s");
	CHECK_STR(format(1536, "bytes"), "1.50 KiB");
	CHECK_STR(format(UINT64_MAX, "bytes"), "16777216 TiB");
}

TEST(only_one_is_no_plural)
{
	char buf[QUANTITY_MAX];

	CHECK_STR(quantity_unit(buf, 1, "calls"), "call");
	CHECK_STR(quantity_unit(buf, 0, "calls"), "calls");
	CHECK_STR(quantity_unit(buf, 2, "calls"), "calls");
	CHECK_STR(quantity_unit(buf, 1, ""), "");
}

TEST(a_long_unit_is_cut)
{
	char buf[QUANTITY_MAX];

	quantity_format(buf, UINT64_MAX, "a-unit-that-is-longer-than-anybody-would-ever-name-one");
	CHECK(strlen(buf) < QUANTITY_MAX);
}

TEST(a_unit_is_cut_between_letters_and_drives_no_terminal)
{
	char unit[] = "............................... \xc3\xa4\xc3\xa4";

	CHECK_STR(format(7, unit), "7 ............................... ");
	CHECK_STR(format(7, unit + 1), "7 .............................. ");
	CHECK_STR(format(7, unit + 2), "7 ............................. \xc3\xa4");
	CHECK_STR(format(7, "\033[1m"), "7 \\x1b[1m");
}
