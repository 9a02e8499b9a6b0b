// SPDX-License-Identifier: GPL-2.0-only
/* Command lines as tables, on getopt_long(3); see opts.h. */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/msg.h"
#include "run/opts.h"
#include "base/parse.h"

#define HELP_COLUMN   30
#define FIRST_LONG_ID 256 /* getopt's values: above every letter */

static const struct opt *flat[OPT_MAX];
static bool given[OPT_MAX];
static size_t n_flat;

static char opt_letter(const struct opt_set *set, const struct opt *opt)
{
	for (const struct opt_letter *own = set->letters; own && own->letter; own++)
		if (!strcmp(opt->name, own->name))
			return own->letter;
	return strcmp(opt->name, "tid") ? opt->letter : set->tid_letter;
}

static void flatten(const struct opt_set *set)
{
	n_flat = 0;
	memset(given, 0, sizeof(given));
	for (size_t i = 0; i < set->n_sections; i++)
		for (const struct opt *opt = set->sections[i].opts; opt && opt->name; opt++)
			if (n_flat < OPT_MAX)
				flat[n_flat++] = opt;
}

static bool has_optional_arg(const struct opt *opt)
{
	return opt->arg && *opt->arg == '[';
}

static void fill_getopt(const struct opt_set *set, struct option *longs, char *letters)
{
	*letters++ = ':';
	for (size_t i = 0; i < n_flat; i++) {
		char letter = opt_letter(set, flat[i]);

		longs[i].name = flat[i]->name;
		longs[i].has_arg = !flat[i]->arg	       ? no_argument
				   : has_optional_arg(flat[i]) ? optional_argument
							       : required_argument;
		longs[i].val = FIRST_LONG_ID + (int)i;
		if (!letter)
			continue;
		*letters++ = letter;
		if (flat[i]->arg)
			*letters++ = ':';
	}
	*letters = '\0';
}

static const char *opt_label(const struct opt *opt)
{
	static char label[64];

	snprintf(label, sizeof(label), "--%s", opt->name);
	return label;
}

static int opt_store_uint(const struct opt *opt, const char *text)
{
	uint64_t value;
	int err = parse_uint(opt_label(opt), text, opt->min, opt->max, &value);

	if (!err)
		*(uint32_t *)opt->dest = (uint32_t)value;
	return err;
}

static int opt_store(const struct opt *opt, const char *text)
{
	switch (opt->type) {
	case OPT_TYPE_FLAG:
		*(bool *)opt->dest = true;
		return 0;
	case OPT_TYPE_UINT:
		return opt_store_uint(opt, text);
	case OPT_TYPE_DURATION:
		return parse_duration(opt_label(opt), text, opt->min, opt->dest);
	case OPT_TYPE_SIZE:
		return parse_size(opt_label(opt), text, opt->dest);
	case OPT_TYPE_STRING:
		*(const char **)opt->dest = text;
		return 0;
	case OPT_TYPE_PARSED:
		return opt->parse(opt_label(opt), text, opt->dest);
	}
	return -EINVAL;
}

static int find_flat(const struct opt_set *set, int value)
{
	for (size_t i = 0; i < n_flat; i++)
		if (value == FIRST_LONG_ID + (int)i || value == opt_letter(set, flat[i]))
			return (int)i;
	return -1;
}

bool opts_given(const char *name)
{
	for (size_t i = 0; i < n_flat; i++)
		if (given[i] && !strcmp(flat[i]->name, name))
			return true;
	return false;
}

static int check_exclusions(void)
{
	for (size_t i = 0; i < n_flat; i++)
		if (given[i] && flat[i]->excludes && opts_given(flat[i]->excludes))
			return msg_error("--%s and --%s exclude each other", flat[i]->name,
					 flat[i]->excludes);
	return 0;
}

/* getopt has refused argv's current word: say which and why. */
static int report_refused(int value, const char *word)
{
	if (value == ':')
		return msg_error("option '%s' needs an argument (see --help)", word);
	if (optopt && optopt < FIRST_LONG_ID)
		return msg_error("unknown option '-%c' (see --help)", optopt);
	if (optopt)
		return msg_error("option '%s' takes no argument (see --help)", word);
	return msg_error("unknown option '%s' (see --help)", word);
}

int opts_parse(const struct opt_set *set, int argc, char **argv)
{
	struct option longs[OPT_MAX + 1] = {};
	char letters[2 * OPT_MAX + 2];
	int value, i;

	flatten(set);
	fill_getopt(set, longs, letters);
	optind = 0;
	opterr = 0;
	while ((value = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
		i = value == '?' || value == ':' ? -1 : find_flat(set, value);
		if (i < 0)
			return report_refused(value, argv[optind - 1]);
		given[i] = true;
		if (!optarg && has_optional_arg(flat[i]) && optind < argc &&
		    isdigit((unsigned char)*argv[optind]))
			optarg = argv[optind++];
		if (opt_store(flat[i], optarg))
			return -EINVAL;
	}
	return check_exclusions() ? -EINVAL : optind;
}

static void print_opt(const struct opt_set *set, const struct opt *opt)
{
	char letter = opt_letter(set, opt), left[80], shortened[8] = "    ";

	if (letter)
		snprintf(shortened, sizeof(shortened), "-%c, ", letter);
	snprintf(left, sizeof(left), "  %s--%s%s%s", shortened, opt->name, opt->arg ? " " : "",
		 opt->arg ? opt->arg : "");
	if (strlen(left) + 2 > HELP_COLUMN)
		printf("%s\n%*s%s\n", left, HELP_COLUMN, "", opt->help);
	else
		printf("%-*s%s\n", HELP_COLUMN, left, opt->help);
}

void opts_print_help(const struct opt_set *set)
{
	for (size_t i = 0; i < set->n_sections; i++) {
		if (!set->sections[i].opts)
			continue;
		printf("\n%s:\n", set->sections[i].title);
		for (const struct opt *opt = set->sections[i].opts; opt->name; opt++)
			print_opt(set, opt);
	}
}
