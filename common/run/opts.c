// SPDX-License-Identifier: GPL-2.0-only
/* Command lines as tables, on getopt_long(3); see opts.h. */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/msg.h"
#include "base/parse.h"
#include "run/opts.h"

#define HELP_COLUMN   30
#define HELP_WIDTH    (80 - HELP_COLUMN)
#define FIRST_LONG_ID 256 /* getopt's values: above every letter */

/* The option's letter, which may be the tool's own; 0: none. */
static char letter_of(const struct opt_set *set, const struct opt *opt)
{
	for (const struct opt_letter *own = set->letters; own && own->letter; own++)
		if (!strcmp(opt->name, own->name))
			return own->letter;
	return strcmp(opt->name, "tid") ? opt->letter : set->tid_letter;
}

static void add_section(struct opt_set *set, const struct opt_section *section)
{
	for (const struct opt *opt = section->opts; opt && opt->name; opt++)
		if (set->n_uses < OPT_MAX)
			set->uses[set->n_uses++] = (struct opt_use){
				.opt = opt,
				.value = (char *)section->values + opt->offset,
			};
}

static void list_uses(struct opt_set *set)
{
	set->n_uses = 0;
	for (size_t i = 0; i < set->n_sections; i++)
		add_section(set, &set->sections[i]);
}

static bool has_optional_arg(const struct opt *opt)
{
	return opt->arg && *opt->arg == '[';
}

static void fill_getopt(const struct opt_set *set, struct option *longs, char *letters)
{
	*letters++ = ':';
	for (size_t i = 0; i < set->n_uses; i++) {
		const struct opt *opt = set->uses[i].opt;
		char letter = letter_of(set, opt);

		longs[i].name = opt->name;
		longs[i].has_arg = !opt->arg		   ? no_argument
				   : has_optional_arg(opt) ? optional_argument
							   : required_argument;
		longs[i].val = FIRST_LONG_ID + (int)i;
		if (!letter)
			continue;
		*letters++ = letter;
		if (opt->arg)
			*letters++ = ':';
	}
	*letters = '\0';
}

static int store_uint(const struct opt_use *use, const char *label, const char *text)
{
	uint64_t value;
	int err = parse_uint(label, text, use->opt->min, use->opt->max, &value);

	if (!err)
		*(uint32_t *)use->value = (uint32_t)value;
	return err;
}

static int store(const struct opt_use *use, const char *text)
{
	char label[64];

	snprintf(label, sizeof(label), "--%s", use->opt->name);
	switch (use->opt->type) {
	case OPT_TYPE_FLAG:
		*(bool *)use->value = true;
		return 0;
	case OPT_TYPE_UINT:
		return store_uint(use, label, text);
	case OPT_TYPE_DURATION:
		return parse_duration(label, text, use->opt->min, use->value);
	case OPT_TYPE_SIZE:
		return parse_size(label, text, use->value);
	case OPT_TYPE_STRING:
		*(const char **)use->value = text;
		return 0;
	case OPT_TYPE_PARSED:
		return use->opt->parse(label, text, use->value);
	}
	return -EINVAL;
}

/* The option that getopt's value stands for; NULL: none. */
static struct opt_use *find_use(struct opt_set *set, int value)
{
	for (size_t i = 0; value != '?' && value != ':' && i < set->n_uses; i++)
		if (value == FIRST_LONG_ID + (int)i || value == letter_of(set, set->uses[i].opt))
			return &set->uses[i];
	return NULL;
}

bool opts_given(const struct opt_set *set, const char *name)
{
	for (size_t i = 0; i < set->n_uses; i++)
		if (set->uses[i].is_given && !strcmp(set->uses[i].opt->name, name))
			return true;
	return false;
}

int opts_refuse(const struct opt_set *set, const char *const names[], const char *where)
{
	for (; *names; names++)
		if (opts_given(set, *names))
			return msg_error("--%s has no effect %s", *names, where);
	return 0;
}

static int check_exclusions(const struct opt_set *set)
{
	for (size_t i = 0; i < set->n_uses; i++) {
		const struct opt *opt = set->uses[i].opt;

		if (set->uses[i].is_given && opt->excludes && opts_given(set, opt->excludes))
			return msg_error("--%s and --%s exclude each other", opt->name,
					 opt->excludes);
	}
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

/* Behind a long name, the next word is the argument that may be left out, if it is a number. */
static bool takes_next_word(const struct opt *opt, int argc, char **argv)
{
	return !optarg && has_optional_arg(opt) && optind < argc &&
	       isdigit((unsigned char)*argv[optind]);
}

int opts_parse(struct opt_set *set, int argc, char **argv)
{
	struct option longs[OPT_MAX + 1] = {};
	char letters[2 * OPT_MAX + 2];
	struct opt_use *use;
	int value;

	list_uses(set);
	fill_getopt(set, longs, letters);
	optind = 0;
	opterr = 0;
	while ((value = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
		use = find_use(set, value);
		if (!use)
			return report_refused(value, argv[optind - 1]);
		use->is_given = true;
		if (takes_next_word(use->opt, argc, argv))
			optarg = argv[optind++];
		if (store(use, optarg))
			return -EINVAL;
	}
	return check_exclusions(set) ? -EINVAL : optind;
}

/* At a terminal's 80 columns: text goes on below its beginning. */
static void print_wrapped(const char *text)
{
	const char *blank;

	while (strlen(text) > HELP_WIDTH && (blank = memrchr(text, ' ', HELP_WIDTH + 1))) {
		printf("%.*s\n%*s", (int)(blank - text), text, HELP_COLUMN, "");
		text = blank + 1;
	}
	puts(text);
}

static void print_opt(const struct opt_set *set, const struct opt *opt)
{
	char letter = letter_of(set, opt), left[80], shortened[8] = "    ";

	if (letter)
		snprintf(shortened, sizeof(shortened), "-%c, ", letter);
	snprintf(left, sizeof(left), "  %s--%s%s%s", shortened, opt->name, opt->arg ? " " : "",
		 opt->arg ? opt->arg : "");
	if (strlen(left) + 2 > HELP_COLUMN)
		printf("%s\n%*s", left, HELP_COLUMN, "");
	else
		printf("%-*s", HELP_COLUMN, left);
	print_wrapped(opt->help);
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
