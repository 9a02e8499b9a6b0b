// SPDX-License-Identifier: GPL-2.0-only
/* Completion of command lines; see completion.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "run/completion.h"
#include "run/words.h"

static struct opt_use *find_letter(struct opt_set *set, char letter)
{
	for (size_t i = 0; i < set->n_uses; i++)
		if (opts_letter(set, set->uses[i].opt) == letter)
			return &set->uses[i];
	return NULL;
}

/* Long names may be cut short, as getopt_long(3) lets them be. */
static struct opt_use *find_long(struct opt_set *set, const char *name, size_t length)
{
	struct opt_use *found = NULL;

	for (size_t i = 0; i < set->n_uses; i++) {
		const char *whole = set->uses[i].opt->name;

		if (strncmp(whole, name, length) != 0)
			continue;
		if (!whole[length])
			return &set->uses[i];
		found = found ? found : &set->uses[i];
	}
	return found;
}

/*
 * The letters of "-mTp185" up to the first that has an argument, which is returned; *rest: what
 * follows it. NULL: there is none.
 */
static struct opt_use *read_letters(struct opt_set *set, const char *word, const char **rest)
{
	struct opt_use *use;

	for (const char *letter = word + 1; *letter; letter++) {
		use = find_letter(set, *letter);
		if (!use)
			return NULL;
		use->is_given = true;
		*rest = letter + 1;
		if (use->opt->arg)
			return use;
	}
	return NULL;
}

/* Notes which options a word gives. Returns the one whose argument is the next word, or NULL. */
static struct opt_use *read_word(struct opt_set *set, const char *word)
{
	const char *rest = "", *equals;
	struct opt_use *use;

	if (*word != '-' || !word[1])
		return NULL;
	if (word[1] != '-') {
		use = read_letters(set, word, &rest);
		return use && !*rest ? use : NULL;
	}
	equals = strchr(word, '=');
	use = find_long(set, word + 2, equals ? (size_t)(equals - word - 2) : strlen(word + 2));
	if (!use)
		return NULL;
	use->is_given = true;
	return equals || !use->opt->arg || *use->opt->arg == '[' ? NULL : use;
}

static bool is_list(const struct opt *opt)
{
	size_t n = strlen(opt->arg);

	return n > 4 && !strcmp(opt->arg + n - 4, ",...");
}

/* Arguments of the option, of which word + at is the beginning. */
static void print_arguments(const struct opt_use *use, const char *word, size_t at)
{
	const char *comma = is_list(use->opt) ? strrchr(word + at, ',') : NULL;
	struct words words;

	if (comma)
		at = (size_t)(comma + 1 - word);
	words_init(&words, word, at, word + at);
	if (use->opt->words)
		words_add_row(&words, use->opt->words);
	if (use->opt->list)
		use->opt->list(use->values, &words);
	words_print(stdout, &words);
	words_free(&words);
}

/* It would be refused, or say what has been said. */
static bool is_pointless(const struct opt_set *set, const struct opt_use *use)
{
	if (use->is_given || (use->opt->excludes && opts_given(set, use->opt->excludes)))
		return true;
	for (size_t i = 0; i < set->n_uses; i++)
		if (set->uses[i].is_given && set->uses[i].opt->excludes &&
		    !strcmp(set->uses[i].opt->excludes, use->opt->name))
			return true;
	return false;
}

/* Letters only where a dash is all that was typed: else there would be two words for each. */
static void add_options(const struct opt_set *set, struct words *words)
{
	for (size_t i = 0; i < set->n_uses; i++) {
		const struct opt *opt = set->uses[i].opt;
		char letter[] = { '-', opts_letter(set, opt), '\0' };
		char *name = mem_printf("--%s", opt->name);

		if (!is_pointless(set, &set->uses[i])) {
			words_add(words, name, opt->help);
			if (letter[1] && !strcmp(words->typed, "-"))
				words_add(words, letter, opt->help);
		}
		free(name);
	}
}

static void print_words(const struct opt_set *set, const char *word, const char *operands)
{
	struct words words;

	words_init(&words, "", 0, word);
	if (*word != '-' && operands)
		words_add_row(&words, operands);
	if (*word == '-' || (!*word && !operands))
		add_options(set, &words);
	words_print(stdout, &words);
	words_free(&words);
}

/* The last word. */
static void complete(struct opt_set *set, const char *word, const char *operands)
{
	const char *equals = strchr(word, '='), *rest = NULL;
	struct opt_use *use = NULL;

	if (!strncmp(word, "--", 2) && equals) {
		use = find_long(set, word + 2, (size_t)(equals - word - 2));
		rest = equals + 1;
	} else if (*word == '-' && word[1] != '-') {
		use = read_letters(set, word, &rest);
		use = use && *rest ? use : NULL;
	}
	if (use && use->opt->arg)
		print_arguments(use, word, (size_t)(rest - word));
	else
		print_words(set, word, operands);
}

bool completion_is_asked(int argc, char **argv)
{
	return argc > 2 && !strcmp(argv[1], "--complete");
}

int completion_print(struct opt_set *set, int argc, char **argv, const char *operands)
{
	const struct opt_use *use = NULL;

	opts_list(set);
	for (int i = 2; i + 1 < argc; i++) {
		if (!use && !strcmp(argv[i], "--"))
			return puts(":command") < 0;
		use = use ? NULL : read_word(set, argv[i]);
	}
	if (use)
		print_arguments(use, argv[argc - 1], 0);
	else
		complete(set, argv[argc - 1], operands);
	return 0;
}

int completion_print_tool(const char *name, const char *summary, const char *between)
{
	int n = between ? printf("%s%s%s\n", name, between, summary)
			: printf("  %-12s %s\n", name, summary);

	return n < 0;
}
