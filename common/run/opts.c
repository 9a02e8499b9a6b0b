// SPDX-License-Identifier: GPL-2.0-only
/* Command lines as tables, on getopt_long(3); see opts.h. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/msg.h"
#include "base/parse.h"
#include "run/opts.h"

#define HELP_COLUMN    30
#define HELP_COLUMNS   80
#define FIRST_LONG_ID  256 /* first getopt_long() value of long options, above all letters */
#define NAME_BYTES_MAX 64

static char wanted_letter(const struct opt_set *set, const struct opt *opt)
{
	for (const struct opt_letter *own = set->letters; own && own->letter; own++)
		if (!strcmp(opt->name, own->name))
			return own->letter;
	return strcmp(opt->name, "tid") ? opt->letter : set->tid_letter;
}

/*
 * Returns the option's letter, or the tool's own letter for it; 0: none, or an earlier option has
 * it: the tool's options precede those of modules.
 */
static char letter_of(const struct opt_set *set, const struct opt *opt)
{
	char letter = wanted_letter(set, opt);

	for (size_t i = 0; letter && i < set->n_uses && set->uses[i].opt != opt; i++)
		if (wanted_letter(set, set->uses[i].opt) == letter)
			return 0;
	return letter;
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

static void fill_getopt(const struct opt_set *set, struct option *longs, char *letters)
{
	*letters++ = ':';
	for (size_t i = 0; i < set->n_uses; i++) {
		const struct opt *opt = set->uses[i].opt;
		char letter = letter_of(set, opt);

		longs[i].name = opt->name;
		longs[i].has_arg = opt->arg ? required_argument : no_argument;
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
	/* it would replace the first */
	if (use->text && use->opt->type != OPT_TYPE_LIST && strcmp(use->text, text) != 0)
		return msg_error("%s: given twice, '%s' and '%s'", label, use->text, text);
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
	case OPT_TYPE_LIST:
		return use->opt->parse(label, text, use->value);
	}
	return -EINVAL;
}

/* Returns the option for getopt's return value; NULL: none. */
static struct opt_use *find_use(struct opt_set *set, int value)
{
	for (size_t i = 0; value != '?' && value != ':' && i < set->n_uses; i++)
		if (value == FIRST_LONG_ID + (int)i || value == letter_of(set, set->uses[i].opt))
			return &set->uses[i];
	return NULL;
}

static const struct opt_use *find_by_name(const struct opt_set *set, const char *name)
{
	for (size_t i = 0; i < set->n_uses; i++)
		if (!strcmp(set->uses[i].opt->name, name))
			return &set->uses[i];
	return NULL;
}

bool opts_given(const struct opt_set *set, const char *name)
{
	const struct opt_use *use = find_by_name(set, name);

	return use && use->is_given;
}

bool opts_given_by_letter(const struct opt_set *set, const char *name)
{
	const struct opt_use *use = find_by_name(set, name);

	return use && use->by_letter;
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

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Edit distance (Levenshtein) between b and the first n characters of a. */
static size_t distance(const char *a, size_t n, const char *b)
{
	size_t row[NAME_BYTES_MAX], n_b = strlen(b), above_left, above;

	if (n_b >= NAME_BYTES_MAX)
		return SIZE_MAX;
	for (size_t k = 0; k <= n_b; k++)
		row[k] = k;
	for (size_t i = 1; i <= n; i++) {
		above_left = row[0];
		row[0] = i;
		for (size_t k = 1; k <= n_b; k++) {
			above = row[k];
			row[k] = smaller(above_left + (a[i - 1] != b[k - 1]),
					 smaller(above, row[k - 1]) + 1);
			above_left = above;
		}
	}
	return row[n_b];
}

/* Returns the option most similar to word ("--name" or "--name=value"); NULL: none is similar. */
static const char *find_similar(const struct opt_set *set, const char *word)
{
	size_t n = strcspn(word + 2, "="), least = (n + 2) / 3 + 1, d;
	const char *similar = NULL;

	for (size_t i = 0; i < set->n_uses; i++) {
		d = distance(word + 2, n, set->uses[i].opt->name);
		if (d < least) {
			least = d;
			similar = set->uses[i].opt->name;
		}
	}
	return similar;
}

/* Reports why getopt has refused word, the current element of argv. */
static int report_refused(const struct opt_set *set, int value, const char *word)
{
	const char *similar;

	if (value == ':')
		return msg_error("option '%s' needs an argument (see --help)", word);
	if (optopt && optopt < FIRST_LONG_ID)
		return msg_error("unknown option '-%c' (see --help)", optopt);
	if (optopt)
		return msg_error("option '%s' takes no argument (see --help)", word);
	similar = find_similar(set, word);
	return similar ? msg_error("unknown option '%s' (did you mean --%s?)", word, similar)
		       : msg_error("unknown option '%s' (see --help)", word);
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
			return report_refused(set, value, argv[optind - 1]);
		if (store(use, optarg))
			return -EINVAL;
		use->is_given = true;
		use->text = optarg;
		use->by_letter = value < FIRST_LONG_ID;
	}
	return check_exclusions(set) ? -EINVAL : optind;
}

/* Prints text from a column on, wrapped at HELP_COLUMNS. */
static void print_wrapped(const char *text, int column)
{
	size_t width = (size_t)(HELP_COLUMNS - column);
	const char *blank;

	while (strlen(text) > width && (blank = memrchr(text, ' ', width + 1))) {
		printf("%.*s\n%*s", (int)(blank - text), text, column, "");
		text = blank + 1;
	}
	puts(text);
}

/* Writes "  -F, --frequency HZ" to left. Returns its length. */
static int format_left(const struct opt_set *set, const struct opt *opt, char *left, size_t size)
{
	char letter = letter_of(set, opt), shortened[8] = "    ";

	if (letter)
		snprintf(shortened, sizeof(shortened), "-%c, ", letter);
	return snprintf(left, size, "  %s--%s%s%s", shortened, opt->name, opt->arg ? " " : "",
			opt->arg ? opt->arg : "");
}

static void print_opt(const struct opt_set *set, const struct opt *opt, int column)
{
	char left[80];

	if (!opt->help)
		return;
	if (format_left(set, opt, left, sizeof(left)) + 2 > column)
		printf("%s\n%*s", left, column, "");
	else
		printf("%-*s", column, left);
	print_wrapped(opt->help, column);
}

void opts_print_help(const struct opt_set *set)
{
	for (size_t i = 0; i < set->n_sections; i++) {
		if (!set->sections[i].opts)
			continue;
		printf("\n%s:\n", set->sections[i].title);
		for (const struct opt *opt = set->sections[i].opts; opt->name; opt++)
			print_opt(set, opt, HELP_COLUMN);
	}
}

/* Removes the next name from the list. Returns its option, NULL at the end. */
static const struct opt *next_named(const struct opt_set *set, const char **names)
{
	char name[NAME_BYTES_MAX];
	const struct opt_use *use;
	int n;

	*names += strspn(*names, " ");
	n = (int)strcspn(*names, " ");
	snprintf(name, sizeof(name), "%.*s", n, *names);
	*names += n;
	use = find_by_name(set, name);
	return use ? use->opt : NULL;
}

/* Returns the column after the longest of these options. */
static int brief_column(const struct opt_set *set, const char *names)
{
	const struct opt *opt;
	int column = 0, n;
	char left[80];

	while ((opt = next_named(set, &names))) {
		n = format_left(set, opt, left, sizeof(left)) + 2;
		if (n > column)
			column = n;
	}
	return column;
}

void opts_print_brief(const struct opt_set *set, const char *command, const char *names)
{
	int column = brief_column(set, names);
	const struct opt *opt;

	printf("\noptions (all: %s --help):\n", command);
	while ((opt = next_named(set, &names)))
		print_opt(set, opt, column);
}
