// SPDX-License-Identifier: GPL-2.0-only
/*
 * Filters of stacks by frame names; see name_filter.h. Each name is matched once, since many stacks
 * share few names.
 */
#include <ctype.h>
#include <regex.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/idmap.h"
#include "base/mem.h"
#include "base/msg.h"
#include "base/strpool.h"
#include "output/name_filter.h"
#include "output/profile.h"

/*
 * maximum number of cached names; then the cache is cleared, since JIT code keeps producing new
 * ones
 */
#define VERDICTS_MAX 65536
#define IS_JUDGED    (1U << 2)

struct name_pattern {
	regex_t regex;
};

struct name_verdicts {
	struct strpool *names;
	struct idmap map; /* verdicts by the name's address, with IS_JUDGED set */
};

/* ---- the size of a pattern ---- */

/*
 * C libraries expand a pattern's repetitions, compile it in time and memory that grow faster than
 * the expanded length, and recurse for each nested group.
 */
#define PATTERN_MAX 500 /* characters after expansion: half a second in musl */
#define NESTING_MAX 32

/* Size of a group or the whole pattern, in two parts: a quantifier repeats only the last item. */
struct extent {
	size_t before_last, last;
};

struct measure {
	struct extent levels[NESTING_MAX + 1];
	size_t depth;
};

static size_t bounded(size_t size)
{
	return size <= PATTERN_MAX ? size : PATTERN_MAX + 1;
}

static void add_item(struct measure *m, size_t size)
{
	struct extent *level = &m->levels[m->depth];

	level->before_last += level->last;
	level->last = size;
}

static void close_group(struct measure *m)
{
	const struct extent *inner = &m->levels[m->depth];
	size_t size = bounded(inner->before_last + inner->last + 1);

	m->depth--;
	add_item(m, size);
}

/* Returns the end of a bracket expression, such as "[^]a[:alpha:]]". */
static const char *skip_brackets(const char *at)
{
	at += at[1] == '^' ? 2 : 1;
	at += *at == ']';
	for (; *at && *at != ']'; at++)
		if (*at == '[' && at[1] && strchr(".:=", at[1])) {
			const char end[] = { at[1], ']', '\0' }, *found = strstr(at + 2, end);

			at = found ? found + 1 : at;
		}
	return at;
}

/*
 * Returns the larger bound of a repetition, 5 for "{2,5}", and moves *at to its "}", or to the last
 * character if it is not closed.
 */
static size_t read_bounds(const char **at)
{
	size_t from = strtoul(*at + 1, (char **)at, 10), to = from;

	if (**at == ',')
		to = isdigit((unsigned char)(*at)[1]) ? strtoul(*at + 1, (char **)at, 10)
						      : from + 1;
	*at += strcspn(*at, "}");
	*at -= !**at;
	return to > from ? to : from;
}

static void repeat_last(struct measure *m, size_t times)
{
	size_t *last = &m->levels[m->depth].last;

	*last = bounded(bounded(times ? times : 1) * *last);
}

/* Returns the item's last character; NULL: groups are nested too deeply. */
static const char *measure_item(struct measure *m, const char *at)
{
	switch (*at) {
	case '(':
		if (m->depth == NESTING_MAX)
			return NULL;
		m->levels[++m->depth] = (struct extent){};
		break;
	case ')':
		if (m->depth)
			close_group(m);
		else
			add_item(m, 1);
		break;
	case '*':
	case '?':
		m->levels[m->depth].before_last++;
		break;
	case '+': /* counts as "aa*" */
		repeat_last(m, 2);
		break;
	case '{':
		repeat_last(m, read_bounds(&at));
		break;
	case '[':
		add_item(m, 1);
		at = skip_brackets(at);
		at -= !*at;
		break;
	case '\\':
		at += at[1] != '\0';
		add_item(m, 1);
		break;
	default:
		add_item(m, 1);
	}
	return at;
}

static bool is_too_large(const char *text)
{
	struct measure m = {};

	if (strlen(text) > PATTERN_MAX)
		return true;
	for (const char *at = text; *at; at++) {
		at = measure_item(&m, at);
		if (!at)
			return true;
	}
	while (m.depth)
		close_group(&m);
	return m.levels[0].before_last + m.levels[0].last > PATTERN_MAX;
}

/* Returns true for patterns with back references, which take unbounded time in some libraries. */
static bool has_back_reference(const char *text)
{
	for (; (text = strchr(text, '\\')) && text[1]; text += 2)
		if (isdigit((unsigned char)text[1]))
			return true;
	return false;
}

static int check_pattern(const char *what, const char *text)
{
	if (!*text)
		return msg_error("%s: the pattern is empty", what);
	if (is_too_large(text))
		return msg_error("%s: the pattern is too large (maximum: %d characters with "
				 "repetitions expanded, %d nested groups)",
				 what, PATTERN_MAX, NESTING_MAX);
	if (has_back_reference(text))
		return msg_error("%s: '%s': back references are not supported", what, text);
	return 0;
}

int name_patterns_parse(const char *what, const char *text, void *dest)
{
	struct name_patterns *patterns = dest;
	struct name_pattern pattern;
	char reason[128];
	int err = check_pattern(what, text);

	if (err)
		return err;
	err = regcomp(&pattern.regex, text, REG_EXTENDED | REG_NOSUB);
	if (err) {
		regerror(err, &pattern.regex, reason, sizeof(reason));
		return msg_error("%s: '%s' is not a regular expression: %s", what, text, reason);
	}
	*MEM_APPEND(patterns->list, patterns->n, patterns->capacity) = pattern;
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
