// SPDX-License-Identifier: GPL-2.0-only
/* Command lines of arbitrary words, one a line: refused, or every value within its bounds. */
#include <errno.h>

#include "base/clock.h"
#include "base/parse.h"
#include "run/opts.h"
#include "fuzz.h"

#define MAX_WORDS 64

struct values {
	bool flag, other_flag;
	uint32_t number;
	uint64_t time_ns, bytes, parsed;
	const char *text;
};

static int parse_optional(const char *what, const char *word, void *dest)
{
	*(uint64_t *)dest = 1;
	return word ? parse_uint(what, word, 1, 99, dest) : 0;
}

static const struct opt opts[] = {
	{ 'f', "flag", NULL, OPT_FLAG(struct values, flag), "a flag", "other" },
	{ 'o', "other", NULL, OPT_FLAG(struct values, other_flag), "another flag" },
	{ 'n', "number", "N", OPT_UINT(struct values, number, 2, 10), "a number" },
	{ 'm', "time", "USEC", OPT_DURATION(struct values, time_ns, NS_PER_US), "a time" },
	{ 0, "tid", "TID", OPT_UINT(struct values, number, 2, 10), "a thread" },
	{ 0, "size", "BYTES", OPT_SIZE(struct values, bytes), "a size" },
	{ 0, "text", "TEXT", OPT_STRING(struct values, text), "a text" },
	{ 'r', "rows", "[N]", OPT_PARSED(struct values, parsed, parse_optional), "rows" },
	{},
};

static void check_values(const struct values *values, int first, int n)
{
	if (first > n || values->number < 2 || values->number > 10 || values->parsed > 99 ||
	    (values->flag && values->other_flag))
		abort();
	if (values->text && strlen(values->text) > 4096)
		abort();
}

FUZZ(bytes, size)
{
	static const struct opt_letter letters[] = { { 's', "size" }, {} };
	struct values values = { .number = 2 };
	struct opt_set set = { .sections = { { "options", opts, &values } },
			       .n_sections = 1,
			       .tid_letter = 't',
			       .letters = letters };
	char *text = mem_strndup((const char *)bytes, size), *next = text;
	char name[] = "tool", *argv[MAX_WORDS + 1] = { name };
	int n = 1, first;

	while (next && n < MAX_WORDS)
		argv[n++] = strsep(&next, "\n");
	first = opts_parse(&set, n, argv);
	if (first >= 0)
		check_values(&values, first, n);
	else if (first != -EINVAL)
		abort();
	free(text);
	return 0;
}
