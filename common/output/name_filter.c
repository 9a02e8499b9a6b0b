// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stacks chosen by the names of their frames; see name_filter.h. A name is matched once: there are
 * few names, but many stacks that have them.
 */
#include <regex.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/idmap.h"
#include "base/mem.h"
#include "base/msg.h"
#include "base/strpool.h"
#include "output/name_filter.h"
#include "output/profile.h"

#define VERDICTS_MAX 65536 /* then they are forgotten: code made at run time has ever new names */
#define IS_JUDGED    (1U << 2)

struct name_pattern {
	regex_t regex;
};

struct name_verdicts {
	struct strpool *names;
	struct idmap map; /* by the address of the name: IS_JUDGED and its verdict */
};

int name_patterns_parse(const char *what, const char *text, void *dest)
{
	struct name_patterns *patterns = dest;
	struct name_pattern pattern;
	char reason[128];
	int err;

	if (!*text)
		return msg_error("%s: the pattern is empty", what);
	err = regcomp(&pattern.regex, text, REG_EXTENDED | REG_NOSUB);
	if (err) {
		regerror(err, &pattern.regex, reason, sizeof(reason));
		return msg_error("%s: '%s' is not a regular expression: %s", what, text, reason);
	}
	patterns->list =
		mem_grow(patterns->list, patterns->n, &patterns->capacity, sizeof(*patterns->list));
	patterns->list[patterns->n++] = pattern;
	return 0;
}

bool name_filter_is_set(const struct name_filter *filter)
{
	return filter->only.n || filter->without.n;
}

static bool match(const struct name_patterns *patterns, const char *name)
{
	for (size_t i = 0; i < patterns->n; i++)
		if (!regexec(&patterns->list[i].regex, name, 0, NULL, 0))
			return true;
	return false;
}

static void forget_verdicts(struct name_filter *filter)
{
	if (!filter->verdicts)
		return;
	strpool_free(filter->verdicts->names);
	idmap_free(&filter->verdicts->map, NULL);
	free(filter->verdicts);
	filter->verdicts = NULL;
}

static struct name_verdicts *prepare_verdicts(struct name_filter *filter)
{
	if (filter->verdicts && strpool_count(filter->verdicts->names) >= VERDICTS_MAX)
		forget_verdicts(filter);
	if (!filter->verdicts) {
		filter->verdicts = mem_zalloc(1, sizeof(*filter->verdicts));
		filter->verdicts->names = strpool_new();
	}
	return filter->verdicts;
}

unsigned int name_filter_judge(struct name_filter *filter, const char *name)
{
	struct name_verdicts *verdicts;
	uintptr_t id, verdict;

	if (!name_filter_is_set(filter))
		return 0;
	verdicts = prepare_verdicts(filter);
	id = (uintptr_t)strpool_intern(verdicts->names, name);
	verdict = (uintptr_t)idmap_find(&verdicts->map, id);
	if (verdict)
		return (unsigned int)verdict & ~IS_JUDGED;
	verdict = (match(&filter->only, name) ? NAME_IS_ONLY : 0) |
		  (match(&filter->without, name) ? NAME_IS_WITHOUT : 0);
	idmap_add(&verdicts->map, id, (void *)(verdict | IS_JUDGED));
	return (unsigned int)verdict;
}

unsigned int name_filter_judge_frames(struct name_filter *filter, const struct frame *const *frames,
				      size_t n)
{
	unsigned int verdict = 0;

	for (size_t i = 0; i < n; i++)
		verdict |= name_filter_judge(filter, frames[i]->name);
	return verdict;
}

bool name_filter_keeps(const struct name_filter *filter, unsigned int verdict)
{
	return !(verdict & NAME_IS_WITHOUT) && (!filter->only.n || (verdict & NAME_IS_ONLY));
}

static void free_patterns(struct name_patterns *patterns)
{
	for (size_t i = 0; i < patterns->n; i++)
		regfree(&patterns->list[i].regex);
	free(patterns->list);
	*patterns = (struct name_patterns){};
}

void name_filter_free(struct name_filter *filter)
{
	forget_verdicts(filter);
	free_patterns(&filter->only);
	free_patterns(&filter->without);
}
