// SPDX-License-Identifier: GPL-2.0-only
/* Numbers are taken whole or not at all: what atoi() lets through is what these tests refuse. */
#include <errno.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/parse.h"
#include "silent.h"
#include "unit.h"

#define UNTOUCHED 4711

static int uint_of(const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
	int stderr_fd = silence_stderr(), err;

	*out = UNTOUCHED;
	err = parse_uint("--n", text, min, max, out);
	restore_stderr(stderr_fd);
	return err;
}

static int duration_of(const char *text, uint64_t unit_ns, uint64_t *out)
{
	int stderr_fd = silence_stderr(), err;

	*out = UNTOUCHED;
	err = parse_duration("--time", text, unit_ns, out);
	restore_stderr(stderr_fd);
	return err;
}

static int size_of(const char *text, uint64_t *out)
{
	int stderr_fd = silence_stderr(), err;

	*out = UNTOUCHED;
	err = parse_size("--size", text, out);
	restore_stderr(stderr_fd);
	return err;
}

#define CHECK_UINT(text, value)                                \
	do {                                                   \
		uint64_t n;                                    \
		CHECK_EQ(uint_of(text, 0, UINT64_MAX, &n), 0); \
		CHECK(n == (value));                           \
	} while (0)

#define CHECK_NO_UINT(text)                                          \
	do {                                                         \
		uint64_t n;                                          \
		CHECK_EQ(uint_of(text, 0, UINT64_MAX, &n), -EINVAL); \
		CHECK_EQ(n, UNTOUCHED);                              \
	} while (0)

#define CHECK_DURATION(text, unit_ns, value)                  \
	do {                                                  \
		uint64_t ns;                                  \
		CHECK_EQ(duration_of(text, unit_ns, &ns), 0); \
		CHECK_EQ(ns, value);                          \
	} while (0)

#define CHECK_NO_DURATION(text)                                      \
	do {                                                         \
		uint64_t ns;                                         \
		CHECK_EQ(duration_of(text, NS_PER_S, &ns), -EINVAL); \
	} while (0)

#define CHECK_SIZE(text, value)                     \
	do {                                        \
		uint64_t bytes;                     \
		CHECK_EQ(size_of(text, &bytes), 0); \
		CHECK_EQ(bytes, value);             \
	} while (0)

#define CHECK_NO_SIZE(text)                               \
	do {                                              \
		uint64_t bytes;                           \
		CHECK_EQ(size_of(text, &bytes), -EINVAL); \
	} while (0)

TEST(reads_decimal_numbers)
{
	CHECK_UINT("0", 0);
	CHECK_UINT("12", 12);
	CHECK_UINT("010", 10);
	CHECK_UINT("18446744073709551615", UINT64_MAX);
}

TEST(reads_hexadecimal_numbers)
{
	CHECK_UINT("0x10", 16);
	CHECK_UINT("0XfF", 255);
	CHECK_UINT("0xffffffffffffffff", UINT64_MAX);
}

TEST(refuses_what_is_no_number)
{
	CHECK_NO_UINT("");
	CHECK_NO_UINT("abc");
	CHECK_NO_UINT("-");
	CHECK_NO_UINT("0x");
	CHECK_NO_UINT("0xg");
	CHECK_NO_UINT("x10");
}

TEST(refuses_what_follows_a_number)
{
	CHECK_NO_UINT("12abc");
	CHECK_NO_UINT("1x");
	CHECK_NO_UINT("1 ");
	CHECK_NO_UINT("1,2");
	CHECK_NO_UINT("1.5");
	CHECK_NO_UINT("1e3");
}

TEST(refuses_signs_and_leading_space)
{
	CHECK_NO_UINT("-1");
	CHECK_NO_UINT("+1");
	CHECK_NO_UINT(" 1");
	CHECK_NO_UINT("\t1");
}

TEST(refuses_numbers_of_more_than_64_bits)
{
	CHECK_NO_UINT("18446744073709551616");
	CHECK_NO_UINT("99999999999999999999999999");
	CHECK_NO_UINT("0x10000000000000000");
}

TEST(bounds_are_inclusive)
{
	uint64_t n;

	CHECK_EQ(uint_of("1", 1, 8, &n), 0);
	CHECK_EQ(n, 1);
	CHECK_EQ(uint_of("8", 1, 8, &n), 0);
	CHECK_EQ(n, 8);
	CHECK_EQ(uint_of("0", 1, 8, &n), -EINVAL);
	CHECK_EQ(uint_of("9", 1, 8, &n), -EINVAL);
	CHECK_EQ(n, UNTOUCHED);
}

TEST(a_duration_without_unit_counts_in_the_options_unit)
{
	CHECK_DURATION("5", NS_PER_S, 5 * NS_PER_S);
	CHECK_DURATION("5", NS_PER_US, 5 * NS_PER_US);
	CHECK_DURATION("0", NS_PER_S, 0);
}

TEST(a_durations_own_unit_goes_before_the_options)
{
	CHECK_DURATION("100ns", NS_PER_S, 100);
	CHECK_DURATION("2us", NS_PER_S, 2 * NS_PER_US);
	CHECK_DURATION("10ms", NS_PER_S, 10 * NS_PER_MS);
	CHECK_DURATION("3s", NS_PER_US, 3 * NS_PER_S);
	CHECK_DURATION("2m", NS_PER_US, 120 * NS_PER_S);
	CHECK_DURATION("1h", NS_PER_US, 3600 * NS_PER_S);
}

TEST(durations_have_fractions)
{
	CHECK_DURATION("1.5", NS_PER_S, 1500 * NS_PER_MS);
	CHECK_DURATION("0.25s", NS_PER_US, 250 * NS_PER_MS);
	CHECK_DURATION("1.000001ms", NS_PER_S, NS_PER_MS + 1);
	CHECK_DURATION("2.50us", NS_PER_S, 2500);
}

TEST(digits_below_a_nanosecond_are_dropped)
{
	CHECK_DURATION("1.9ns", NS_PER_S, 1);
	CHECK_DURATION("1.0000000009", NS_PER_S, NS_PER_S);
	CHECK_DURATION("1.00000000000000000000000000000000001", NS_PER_S, NS_PER_S);
}

TEST(refuses_what_is_no_duration)
{
	CHECK_NO_DURATION("");
	CHECK_NO_DURATION("ms");
	CHECK_NO_DURATION("1x");
	CHECK_NO_DURATION("1 s");
	CHECK_NO_DURATION("10msec");
	CHECK_NO_DURATION("-1");
	CHECK_NO_DURATION("1.");
	CHECK_NO_DURATION(".5");
	CHECK_NO_DURATION("1.5.5");
	CHECK_NO_DURATION("1.-5");
}

TEST(refuses_durations_that_overflow)
{
	CHECK_NO_DURATION("18446744074"); /* seconds: just above 2^64 ns */
	CHECK_NO_DURATION("18446744073.9");
	CHECK_NO_DURATION("99999999999999999999");
}

/* They are added to times, in 64 bits. */
TEST(refuses_durations_that_no_clock_reaches)
{
	uint64_t out;

	CHECK_NO_DURATION("18446744073s");
	CHECK_NO_DURATION("4611686018.427387904");
	CHECK_DURATION("4611686018.427387903", NS_PER_S, PARSE_DURATION_MAX_NS);
	CHECK_EQ(duration_of("18446744073s", NS_PER_S, &out), -EINVAL);
	CHECK_EQ(out, UNTOUCHED);
}

TEST(reads_sizes)
{
	CHECK_SIZE("4096", 4096);
	CHECK_SIZE("64K", 64 << 10);
	CHECK_SIZE("64k", 64 << 10);
	CHECK_SIZE("8M", 8 << 20);
	CHECK_SIZE("1G", 1 << 30);
	CHECK_SIZE("0x1000", 4096);
}

TEST(sizes_have_fractions)
{
	CHECK_SIZE("1.5K", 1536);
	CHECK_SIZE("1.5M", 1572864);
	CHECK_SIZE("0.50000000000000000000G", 512 << 20);
}

TEST(refuses_what_is_no_size)
{
	CHECK_NO_SIZE("");
	CHECK_NO_SIZE("K");
	CHECK_NO_SIZE("1KB");
	CHECK_NO_SIZE("1T");
	CHECK_NO_SIZE("-1K");
	CHECK_NO_SIZE("17179869184G");
}

struct numbers {
	uint64_t items[8];
	size_t count, limit;
};

static int add_number(uint64_t value, void *arg)
{
	struct numbers *numbers = arg;

	if (numbers->count == numbers->limit)
		return -ENOSPC;
	numbers->items[numbers->count++] = value;
	return 0;
}

static int list_of(const char *text, struct numbers *numbers)
{
	int stderr_fd = silence_stderr();
	int err = parse_list("--pid", text, 1, 100, add_number, numbers);

	restore_stderr(stderr_fd);
	return err;
}

TEST(reads_lists)
{
	struct numbers numbers = { .limit = 8 };

	CHECK_EQ(list_of("3", &numbers), 0);
	CHECK_EQ(list_of("1,2,100", &numbers), 0);
	CHECK_EQ(numbers.count, 4);
	CHECK_EQ(numbers.items[0], 3);
	CHECK_EQ(numbers.items[1], 1);
	CHECK_EQ(numbers.items[3], 100);
}

TEST(refuses_lists_with_a_bad_item)
{
	static const char *const texts[] = { "", ",", "1,", ",1", "1,,2", "1,2x", "1, 2", "1,101" };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct numbers numbers = { .limit = 8 };

		if (list_of(texts[i], &numbers) != -EINVAL)
			UNIT_FAIL("\"%s\" is taken", texts[i]);
	}
}

TEST(a_list_ends_where_its_reader_says_so)
{
	struct numbers numbers = { .limit = 2 };

	CHECK_EQ(list_of("1,2,3,4", &numbers), -ENOSPC);
	CHECK_EQ(numbers.count, 2);
}
