// SPDX-License-Identifier: GPL-2.0-only
/* Which stacks --only and --without show. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "output/name_filter.h"
#include "output/profile.h"
#include "unit.h"

/* The filter's decision about "main;work;leaf" with these patterns; NULL: none. */
static bool keeps(const char *only, const char *without)
{
	static const struct frame frames[] = { { .name = "main" },
					       { .name = "work" },
					       { .name = "leaf" } };
	static const struct frame *const list[] = { &frames[0], &frames[1], &frames[2] };
	struct name_filter filter = {};
	bool kept;

	if (only)
		CHECK_EQ(name_patterns_parse("--only", only, &filter.only), 0);
	if (without)
		CHECK_EQ(name_patterns_parse("--without", without, &filter.without), 0);
	CHECK_EQ(name_filter_is_set(&filter), only || without);
	kept = name_filter_keeps(&filter, name_filter_judge_frames(&filter, list, 3));
	name_filter_free(&filter);
	return kept;
}

TEST(without_patterns_everything_is_shown)
{
	CHECK(keeps(NULL, NULL));
}

TEST(any_frame_decides)
{
	CHECK(keeps("^work$", NULL));
	CHECK(keeps("or", NULL));
	CHECK(!keeps("^or$", NULL));
	CHECK(!keeps(NULL, "l.af"));
	CHECK(keeps(NULL, "nothing"));
	CHECK(keeps("nothing|main", NULL));
}

TEST(without_goes_before_only)
{
	CHECK(!keeps("work", "leaf"));
	CHECK(keeps("work", "nothing"));
}

TEST(of_several_patterns_one_is_enough)
{
	struct name_filter filter = {};

	CHECK_EQ(name_patterns_parse("--only", "^a$", &filter.only), 0);
	CHECK_EQ(name_patterns_parse("--only", "^b$", &filter.only), 0);
	CHECK(name_filter_keeps(&filter, name_filter_judge(&filter, "a")));
	CHECK(name_filter_keeps(&filter, name_filter_judge(&filter, "b")));
	CHECK(!name_filter_keeps(&filter, name_filter_judge(&filter, "c")));
	name_filter_free(&filter);
}

/* More names than verdicts are kept of: they are the same when they are asked for again. */
TEST(verdicts_are_bounded_and_stay_right)
{
	struct name_filter filter = {};
	char name[32];

	CHECK_EQ(name_patterns_parse("--without", "7$", &filter.without), 0);
	for (unsigned int i = 0; i < 300000; i++) {
		snprintf(name, sizeof(name), "f%u", i % 100000);
		if (name_filter_keeps(&filter, name_filter_judge(&filter, name)) == (i % 10 == 7))
			UNIT_FAIL("%s", name);
	}
	name_filter_free(&filter);
}

TEST(what_is_no_pattern_is_an_error)
{
	struct name_filter filter = {};

	CHECK(name_patterns_parse("--only", "a[", &filter.only) < 0);
	CHECK(name_patterns_parse("--only", "", &filter.only) < 0);
	CHECK(!name_filter_is_set(&filter));
	name_filter_free(&filter);
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
	struct name_filter filter = {};
	bool taken = !name_patterns_parse("--only", pattern, &filter.only);

	name_filter_free(&filter);
	return taken;
}

/* The C library would take all of the stack, minutes, or gigabytes. */
TEST(a_pattern_that_is_too_large_is_an_error)
{
	char *open = repeat("(", 20000), *close = repeat(")", 20000), *twice = repeat("+", 30);
	char *nested = mem_printf("%sa%s", open, close);

	CHECK(!is_taken(nested));
	CHECK(!is_taken(open));
	CHECK(!is_taken("a{1,255}{1,255}{1,255}"));
	CHECK(!is_taken("((a{20}){20}){2}"));
	CHECK(!is_taken("(a{20})*{20}?{20}"));
	CHECK(!is_taken("(a?b?c?d?){100,}x"));
	CHECK(!is_taken("([[:alpha:]]{255}\\(){2}"));
	memmove(twice + 1, twice, 29);
	twice[0] = 'a';
	CHECK(!is_taken(twice));
	memset(open, 'a', 20000);
	CHECK(!is_taken(open));
	free(open);
	free(close);
	free(twice);
	free(nested);
}

TEST(patterns_of_usual_size_are_taken)
{
	CHECK(is_taken("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"));
	CHECK(is_taken("^(std::(__cxx11::)?basic_string<.+>::)+(append|assign)(_v[0-9]+)?$"));
	CHECK(is_taken("[]({]+[^]a[:digit:]({]*"));
	CHECK(is_taken("a{0}b{,3}"));
	CHECK(is_taken("operator\\(\\)"));
}

/* Not in extended regular expressions, though C libraries have them. */
TEST(back_references_are_refused)
{
	CHECK(!is_taken("(.*)(.*)(.*)\\1\\2\\3x"));
	CHECK(is_taken("a\\\\1"));
}
