// SPDX-License-Identifier: GPL-2.0-only
/* Options of flame; see options.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/msg.h"
#include "base/parse.h"
#include "flame/options.h"

int options_parse_durations(const char *what, const char *text, void *dest)
{
	char *before = mem_strdup(text), *after = strchr(before, ',');
	uint64_t before_ns = 0, after_ns = 0;
	int err;

	if (after)
		*after++ = '\0';
	err = after ? parse_duration(what, before, NS_PER_S, &before_ns)
		    : msg_error("%s: '%s' is not two durations (example: 10s,20s)", what, text);
	if (!err)
		err = parse_duration(what, after, NS_PER_S, &after_ns);
	if (!err && (!before_ns || !after_ns))
		err = msg_error("%s: a duration must be more than 0", what);
	if (!err)
		*(double *)dest = (double)after_ns / (double)before_ns;
	free(before);
	return err;
}

int options_parse_limit(const char *what, const char *text, void *dest)
{
	char *number = mem_strdup(text), *end = number + strlen(number);
	double percent;
	int err;

	if (end > number && end[-1] == '%')
		end[-1] = '\0';
	err = parse_decimal(what, number, 0, 1e6, &percent);
	if (!err)
		*(double *)dest = percent / 100;
	free(number);
	return err;
}

int options_parse_unit(const char *what, const char *text, void *dest)
{
	if (strchr(text, '('))
		return msg_error("%s: '%s': must not contain '('", what, text);
	*(const char **)dest = text;
	return 0;
}

/*
 * Refuses options without an effect. Merged folded stacks have no unit, and their values are not
 * divided by durations.
 */
static int check_effects(const struct options *options, const struct opt_set *set)
{
	static const char *const about_picture[] = { "inverted", "title",     "subtitle",
						     "width",	 "min-width", NULL };
	static const char *const about_values[] = { "unit", "durations", NULL };
	const char *where = options->merge   ? "with --merge"
			    : options->table ? "with --table"
					     : "with --top";
	int err = 0;

	if (options->table && options->picture.leaves_first)
		return msg_error("--reverse and --table exclude each other");
	if (options->merge || options->top)
		err = opts_refuse(set, about_picture, where);
	return !err && options->merge ? opts_refuse(set, about_values, where) : err;
}

static int check_sides(const struct options *options)
{
	bool compares = options->picture.differential;
	const char *for_tables = options->limit >= 0 ? "--fail-over"
				 : options->shares   ? "--shares"
						     : NULL;

	if (compares && (options->n < 1 || (options->n > 2 && !options->n_before)))
		return msg_error("--diff needs two files, or one file with two values per line "
				 "(several runs: A1 A2 -- B1 B2)");
	if (for_tables && (!options->top || !compares))
		return msg_error("%s needs --diff --table", for_tables);
	return options->picture.before_scale > 0 && !compares
		       ? msg_error("--durations needs --diff")
		       : 0;
}

/* Returns the number of words after "--", which separates the sides of a comparison; 0: none. */
static int count_after_dashes(int argc, char **argv)
{
	int i = 1;

	while (i < argc && strcmp(argv[i], "--"))
		i++;
	return i < argc ? argc - i - 1 : 0;
}

int options_parse(struct options *options, struct opt_set *set, int argc, char **argv)
{
	int n_after = count_after_dashes(argc, argv), first = opts_parse(set, argc, argv), n;

	if (first < 0 || options->common.want_help || options->common.want_version)
		return first;
	n = argc - first;
	options->n = (size_t)n;
	options->n_before = n_after && n_after < n ? (size_t)(n - n_after) : n == 2;
	if (options->table && !options->top)
		options->top = UINT32_MAX;
	return check_effects(options, set) || check_sides(options) ? -EINVAL : first;
}
