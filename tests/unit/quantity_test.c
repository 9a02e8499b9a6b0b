// SPDX-License-Identifier: GPL-2.0-only
/* Values for people: the right unit, no digit that isn't known, nothing cut. */
#include "output/quantity.h"
#include "unit.h"

static const char *format(uint64_t value, const char *unit)
{
	static char buf[QUANTITY_MAX];

	return quantity_format(buf, value, unit);
}

TEST(quantities_are_short)
{
	char buf[QUANTITY_MAX];

	/* counts have their thousands apart */
	CHECK_STR(format(0, "samples"), "0 samples");
	CHECK_STR(format(1, "samples"), "1 sample");
	CHECK_STR(format(999, "samples"), "999 samples");
	CHECK_STR(format(1000, "faults"), "1,000 faults");
	CHECK_STR(format(UINT64_MAX, "waits"), "18,446,744,073,709,551,615 waits");
	/* times and sizes are scaled */
	CHECK_STR(format(999, "microseconds"), "999 us");
	CHECK_STR(format(1500, "microseconds"), "1.50 ms");
	CHECK_STR(format(12345678, "microseconds"), "12.3 s");
	CHECK_STR(format(7, "nanoseconds"), "7 ns");
	CHECK_STR(format(3600ULL * 1000 * 1000 * 1000, "nanoseconds"), "3600 s");
	CHECK_STR(format(1536, "bytes"), "1.50 KiB");
	CHECK_STR(format(UINT64_MAX, "bytes"), "16777216 TiB");
	/* only one is no plural */
	CHECK_STR(quantity_unit(buf, 1, "calls"), "call");
	CHECK_STR(quantity_unit(buf, 0, "calls"), "calls");
	CHECK_STR(quantity_unit(buf, 2, "calls"), "calls");
	CHECK_STR(quantity_unit(buf, 1, ""), "");
	/* a long unit is cut */
	quantity_format(buf, UINT64_MAX, "a-unit-that-is-longer-than-anybody-would-ever-name-one");
	CHECK(strlen(buf) < QUANTITY_MAX);
}

TEST(fractions_have_few_digits_for_people_and_all_for_programs)
{
	static const struct {
		uint64_t value;
		unsigned int decimals;
		const char *shown, *digits;
	} cases[] = { { 25, 2, "0.25 samples", "0.25" },
		      { 100, 2, "1 sample", "1" },
		      { 0, 5, "0 samples", "0" },
		      { 1, 19, "0.0000000000000000001 samples", "0.0000000000000000001" },
		      { 123456789, 3, "123,456.8 samples", "123456.789" },
		      { 123456789012, 3, "123,456,789 samples", "123456789.012" },
		      { UINT64_MAX, 19, "1.844674 samples", "1.8446744073709551615" } };
	char buf[QUANTITY_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CHECK_STR(quantity_format_decimal(buf, cases[i].value, cases[i].decimals,
						  "samples"),
			  cases[i].shown);
		CHECK_STR(quantity_digits(buf, cases[i].value, cases[i].decimals), cases[i].digits);
	}
	CHECK_STR(quantity_format_decimal(buf, 25, 2, "microseconds"), "0.25 us");
	CHECK_STR(quantity_format_decimal(buf, 1500250, 3, "microseconds"), "1.50 ms");
}

TEST(a_shift_is_exact_or_rounded_or_refused)
{
	uint64_t value = 1844674407370955161;

	CHECK(quantity_shift(&value, 1));
	CHECK_EQ(value, 18446744073709551610U);
	CHECK(!quantity_shift(&value, 1));
	CHECK_EQ(value, 18446744073709551610U);
	CHECK(quantity_shift(&value, -19));
	CHECK_EQ(value, 2);
	CHECK(!quantity_shift(&value, 20));
	CHECK(quantity_shift(&value, -20));
	CHECK_EQ(value, 0);
	CHECK(quantity_shift(&value, 1000));
	CHECK_EQ(value, 0);
}

TEST(a_unit_is_cut_between_letters_and_drives_no_terminal)
{
	char unit[] = "............................... \xc3\xa4\xc3\xa4";

	CHECK_STR(format(7, unit), "7 ............................... ");
	CHECK_STR(format(7, unit + 1), "7 .............................. ");
	CHECK_STR(format(7, unit + 2), "7 ............................. \xc3\xa4");
	CHECK_STR(format(7, "\033[1m"), "7 \\x1b[1m");
}
