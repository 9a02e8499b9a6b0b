// SPDX-License-Identifier: GPL-2.0-only
/* Words for completion; see words.h. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/mem.h"
#include "run/words.h"

#define ABOUT_MAX 96

void words_init(struct words *words, const char *before, size_t before_bytes, const char *typed)
{
	*words = (struct words){ .typed = typed, .before = mem_strndup(before, before_bytes) };
}

void words_free(struct words *words)
{
	for (size_t i = 0; i < words->n; i++) {
		free(words->list[i].text);
		free(words->list[i].about);
	}
	free(words->list);
	free(words->before);
}

static bool is_printable(const char *text)
{
	for (size_t n; *text; text += n) {
		n = escape_printable_bytes(text, NULL);
		if (!n)
			return false;
	}
	return true;
}

void words_add(struct words *words, const char *text, const char *about)
{
	char escaped[ABOUT_MAX];

	if (words->n >= WORDS_MAX || !*text || !is_printable(text) ||
	    strncmp(text, words->typed, strlen(words->typed)) != 0)
		return;
	words->list = mem_grow(words->list, words->n, &words->cap, sizeof(*words->list));
	words->list[words->n++] = (struct word){
		mem_strdup(text),
		mem_strdup(about ? escape_string(escaped, sizeof(escaped), about, NULL) : ""),
	};
}

void words_add_row(struct words *words, const char *row)
{
	char *copy = mem_strdup(row), *rest = copy, *word;

	if (*row == ':')
		words->by_shell = row;
	else
		while ((word = strsep(&rest, " ")))
			words_add(words, word, NULL);
	free(copy);
}

/* Numbers by their values. */
static int by_text(const void *a, const void *b)
{
	return strverscmp(((const struct word *)a)->text, ((const struct word *)b)->text);
}

void words_print(FILE *f, struct words *words)
{
	const struct word *word = words->list;

	if (words->by_shell)
		fprintf(f, "%s\n", words->by_shell);
	if (words->n)
		qsort(words->list, words->n, sizeof(*words->list), by_text);
	for (size_t i = 0; i < words->n; i++, word++)
		if (!i || strcmp(word->text, word[-1].text) != 0)
			fprintf(f, "%s%s%s%s\n", words->before, word->text,
				*word->about ? "\t" : "", word->about);
}
