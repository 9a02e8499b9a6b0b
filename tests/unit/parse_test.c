// SPDX-License-Identifier: GPL-2.0-only
/* Numbers are taken whole or not at all: what atoi() lets through is what these tests refuse. */
#include "base/parse.h"
#include "silent.h"
#include "unit.h"

#define UNTOUCHED 4711

enum kind {
	UINT,
	IN_1_TO_8,
	DURATION, /* in seconds, unless the unit is given */
	USECS,
	SIZE,
};

static int parse(enum kind kind, const char *text, uint64_t *out)
{
	int err = 0;

	*out = UNTOUCHED;
	if (kind == UINT)
		SAID(err = parse_uint("--n", text, 0, UINT64_MAX, out));
	else if (kind == IN_1_TO_8)
		SAID(err = parse_uint("--n", text, 1, 8, out));
	else if (kind == SIZE)
		SAID(err = parse_size("--size", text, out));
	else
		SAID(err = parse_duration("--time", text, kind == USECS ? NS_PER_US : NS_PER_S,
					  out));
	return err;
}

static const struct {
	enum kind kind;
	const char *text;
	uint64_t value;
} numbers[] = {
	{ UINT, "0", 0 },
	{ UINT, "12", 12 },
	{ UINT, "010", 10 },
	{ UINT, "18446744073709551615", UINT64_MAX },
	{ UINT, "0x10", 16 },
	{ UINT, "0XfF", 255 },
	{ UINT, "0xffffffffffffffff", UINT64_MAX },
	{ IN_1_TO_8, "1", 1 },
	{ IN_1_TO_8, "8", 8 },
	{ DURATION, "5", 5 * NS_PER_S },
	{ USECS, "5", 5 * NS_PER_US },
	{ DURATION, "0", 0 },
	{ DURATION, "100ns", 100 },
	{ DURATION, "2us", 2 * NS_PER_US },
	{ DURATION, "10ms", 10 * NS_PER_MS },
	{ USECS, "3s", 3 * NS_PER_S },
	{ USECS, "2m", 120 * NS_PER_S },
	{ USECS, "1h", 3600 * NS_PER_S },
	{ DURATION, "1.5", 1500 * NS_PER_MS },
	{ USECS, "0.25s", 250 * NS_PER_MS },
	{ DURATION, "1.000001ms", NS_PER_MS + 1 },
	{ DURATION, "2.50us", 2500 },
	/* digits below a nanosecond are dropped */
	{ DURATION, "1.9ns", 1 },
	{ DURATION, "1.0000000009", NS_PER_S },
	{ DURATION, "1.00000000000000000000000000000000001", NS_PER_S },
	{ DURATION, "4611686018.427387903", PARSE_DURATION_MAX_NS },
	{ SIZE, "4096", 4096 },
	{ SIZE, "64K", 64 << 10 },
	{ SIZE, "64k", 64 << 10 },
	{ SIZE, "8M", 8 << 20 },
	{ SIZE, "1G", 1 << 30 },
	{ SIZE, "0x1000", 4096 },
	{ SIZE, "1.5K", 1536 },
	{ SIZE, "1.5M", 1572864 },
	{ SIZE, "0.50000000000000000000G", 512 << 20 },
};

TEST(reads_numbers_durations_and_sizes)
{
	uint64_t value;

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		CHECK_CASE(numbers[i].text, parse(numbers[i].kind, numbers[i].text, &value), 0);
		CHECK_CASE(numbers[i].text, value, numbers[i].value);
	}
}

static const struct {
	enum kind kind;
	const char *texts[16];
} refused[] = {
	{ UINT, { "", "abc", "-", "0x", "0xg", "x10" } },
	{ UINT, { "12abc", "1x", "1 ", "1,2", "1.5", "1e3" } }, /* what follows a number */
	{ UINT, { "-1", "+1", " 1", "\t1" } },
	{ UINT, { "18446744073709551616", "99999999999999999999999999", "0x10000000000000000" } },
	{ IN_1_TO_8, { "0", "9" } },
	{ DURATION, { "", "ms", "1x", "1 s", "10msec", "-1", "1.", ".5", "1.5.5", "1.-5" } },
	/* just above 2^64 ns, and what no clock reaches: they are added to times, in 64 bits */
	{ DURATION, { "18446744074", "18446744073.9", "99999999999999999999" } },
	{ DURATION, { "18446744073s", "4611686018.427387904" } },
	{ SIZE, { "", "K", "1KB", "1T", "-1K", "17179869184G" } },
};

TEST(refuses_everything_else)
{
	uint64_t value;

	for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
		for (const char *const *text = refused[i].texts; *text; text++) {
			CHECK_CASE(*text, parse(refused[i].kind, *text, &value), -EINVAL);
			if (refused[i].kind != SIZE)
				CHECK_CASE(*text, value, UNTOUCHED);
		}
}

struct list {
	uint64_t items[8];
	size_t count, limit;
};

static int add_number(uint64_t value, void *arg)
{
	struct list *list = arg;

	if (list->count == list->limit)
		return -ENOSPC;
	list->items[list->count++] = value;
	return 0;
}

static int list_of(const char *text, struct list *list)
{
	int err;

	SAID(err = parse_list("--pid", text, 1, 100, add_number, list));
	return err;
}

TEST(reads_lists)
{
	struct list list = { .limit = 8 };

	CHECK_EQ(list_of("3", &list), 0);
	CHECK_EQ(list_of("1,2,100", &list), 0);
	CHECK_EQ(list.count, 4);
	CHECK_EQ(list.items[0], 3);
	CHECK_EQ(list.items[1], 1);
	CHECK_EQ(list.items[3], 100);
}

TEST(refuses_lists_with_a_bad_item)
{
	static const char *const texts[] = { "", ",", "1,", ",1", "1,,2", "1,2x", "1, 2", "1,101" };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct list list = { .limit = 8 };

		if (list_of(texts[i], &list) != -EINVAL)
			UNIT_FAIL("\"%s\" is taken", texts[i]);
	}
}

TEST(a_list_ends_where_its_reader_says_so)
{
	struct list list = { .limit = 2 };

	CHECK_EQ(list_of("1,2,3,4", &list), -ENOSPC);
	CHECK_EQ(list.count, 2);
}
