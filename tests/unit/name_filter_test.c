// SPDX-License-Identifier: GPL-2.0-only
/* Which stacks --only and --without show. */
#include "output/name_filter.h"
#include "output/profile.h"
#include "silent.h"
#include "unit.h"

static struct name_filter filter;

AFTER_EACH()
{
	name_filter_free(&filter);
}

/* The filter's decision about "main;work;leaf" with these patterns; NULL: none. */
static bool keeps(const char *only, const char *without)
{
	static const struct frame frames[] = { { .name = "main" },
					       { .name = "work" },
					       { .name = "leaf" } };
	static const struct frame *const list[] = { &frames[0], &frames[1], &frames[2] };

	name_filter_free(&filter);
	filter = (struct name_filter){};
	if (only)
		CHECK_EQ(name_patterns_parse("--only", only, &filter.only), 0);
	if (without)
		CHECK_EQ(name_patterns_parse("--without", without, &filter.without), 0);
	CHECK_EQ(name_filter_is_set(&filter), only || without);
	return name_filter_keeps(&filter, name_filter_judge_frames(&filter, list, 3));
}

TEST(any_frame_decides)
{
	CHECK(keeps(NULL, NULL));
	CHECK(keeps("^work$", NULL) && keeps("or", NULL) && keeps("nothing|main", NULL));
	CHECK(!keeps("^or$", NULL));
	CHECK(!keeps(NULL, "l.af") && keeps(NULL, "nothing"));
	CHECK(!keeps("work", "leaf") && keeps("work", "nothing"));
}

TEST(of_several_patterns_one_is_enough)
{
	CHECK_EQ(name_patterns_parse("--only", "^a$", &filter.only), 0);
	CHECK_EQ(name_patterns_parse("--only", "^b$", &filter.only), 0);
	CHECK(name_filter_keeps(&filter, name_filter_judge(&filter, "a")));
	CHECK(name_filter_keeps(&filter, name_filter_judge(&filter, "b")));
	CHECK(!name_filter_keeps(&filter, name_filter_judge(&filter, "c")));
}

/* More names than verdicts are kept of: they are the same when they are asked for again. */
TEST(verdicts_are_bounded_and_stay_right)
{
	char name[32];

	CHECK_EQ(name_patterns_parse("--without", "7$", &filter.without), 0);
	for (unsigned int i = 0; i < 300000; i++) {
		snprintf(name, sizeof(name), "f%u", i % 100000);
		if (name_filter_keeps(&filter, name_filter_judge(&filter, name)) == (i % 10 == 7))
			UNIT_FAIL("%s", name);
	}
}

TEST(what_is_no_pattern_is_an_error)
{
	CHECK(name_patterns_parse("--only", "a[", &filter.only) < 0);
	CHECK(name_patterns_parse("--only", "", &filter.only) < 0);
	CHECK(!name_filter_is_set(&filter));
}

static char *repeat(const char *text, size_t n)
{
	size_t length = strlen(text);
	char *result = calloc(n, length + 1);

	for (size_t i = 0; i < n; i++)
		memcpy(result + i * length, text, length);
	return result;
}

static bool is_taken(const char *pattern)
{
	bool taken;

	SAID(taken = !name_patterns_parse("--only", pattern, &filter.only));
	return taken;
}

/* The C library would take all of the stack, minutes, or gigabytes. */
TEST(a_pattern_that_is_too_large_is_an_error)
{
	static const char *const large[] = {
		"a{1,255}{1,255}{1,255}",   "((a{20}){20}){2}",
		"(a{20})*{20}?{20}",	    "(a?b?c?d?){100,}x",
		"([[:alpha:]]{255}\\(){2}", "a++++++++++++++++++++++++++++++",
		"(.*)(.*)(.*)\\1\\2\\3x", /* back references: not in extended ones */
	};
	static const char *const usual[] = {
		"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
		"^(std::(__cxx11::)?basic_string<.+>::)+(append|assign)(_v[0-9]+)?$",
		"[]({]+[^]a[:digit:]({]*",
		"a{0}b{,3}",
		"operator\\(\\)",
		"a\\\\1",
	};
	char *open = until_end(repeat("(", 20000)), *close = until_end(repeat(")", 20000));

	for (size_t i = 0; i < ARRAY_SIZE(large); i++)
		CHECK_CASE(large[i], is_taken(large[i]), false);
	for (size_t i = 0; i < ARRAY_SIZE(usual); i++)
		CHECK_CASE(usual[i], is_taken(usual[i]), true);
	CHECK(!is_taken(until_end(mem_printf("%sa%s", open, close))));
	CHECK(!is_taken(open));
	memset(open, 'a', 20000);
	CHECK(!is_taken(open));
}
