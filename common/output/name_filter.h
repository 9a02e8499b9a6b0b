/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * --only and --without: which stacks are shown, by the names of their frames. Patterns are POSIX
 * extended regular expressions (regex(7)), and match anywhere in a name. They are bounded, since
 * the C library that compiles them bounds neither its time nor its stack.
 */
#ifndef NAME_FILTER_H
#define NAME_FILTER_H

#include <stdbool.h>
#include <stddef.h>

struct frame;

struct name_patterns {
	struct name_pattern *list;
	size_t n, capacity;
};

struct name_filter {
	struct name_patterns only, without;
	struct name_verdicts *verdicts; /* of the names judged so far */
};

enum name_verdict { NAME_IS_ONLY = 1 << 0, NAME_IS_WITHOUT = 1 << 1 };

/* An opt_parse_fn: adds a pattern to the struct name_patterns at dest. */
int name_patterns_parse(const char *what, const char *text, void *dest);

bool name_filter_is_set(const struct name_filter *filter);

/*
 * Returns the matches of a name as bits of enum name_verdict. A stack's verdict is the OR of its
 * names' verdicts.
 */
unsigned int name_filter_judge(struct name_filter *filter, const char *name);
unsigned int name_filter_judge_frames(struct name_filter *filter, const struct frame *const *frames,
				      size_t n);

/* Returns true if a stack with that verdict is shown. */
bool name_filter_keeps(const struct name_filter *filter, unsigned int verdict);

/* Frees what the filter holds. */
void name_filter_free(struct name_filter *filter);

#endif
