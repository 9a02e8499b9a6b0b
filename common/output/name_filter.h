/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * --only and --without: filters of stacks by the names of their frames. Patterns are POSIX extended
 * regular expressions (regex(7)) that match anywhere in a name. Their size is limited, since the C
 * library limits neither the time nor the stack that it takes to compile them.
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
	struct name_verdicts *verdicts; /* cache of name verdicts; NULL: empty */
};

enum name_verdict { NAME_IS_ONLY = 1 << 0, NAME_IS_WITHOUT = 1 << 1 };

/* An opt_parse_fn: adds a pattern to the struct name_patterns at dest. */
int name_patterns_parse(const char *what, const char *text, void *dest);

bool name_filter_is_set(const struct name_filter *filter);

/* Return a name's verdict, bits of enum name_verdict, or a stack's: the OR of its names'. */
unsigned int name_filter_judge(struct name_filter *filter, const char *name);
unsigned int name_filter_judge_frames(struct name_filter *filter, const struct frame *const *frames,
				      size_t n);

/* Returns true if a stack with this verdict is shown. */
bool name_filter_keeps(const struct name_filter *filter, unsigned int verdict);

/* Frees the filter's contents. */
void name_filter_free(struct name_filter *filter);

#endif
