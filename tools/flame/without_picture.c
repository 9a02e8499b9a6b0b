// SPDX-License-Identifier: GPL-2.0-only
/*
 * Options that have no effect without a picture; see without_picture.h. Merged folded stacks have
 * no unit, and their values are not divided by durations.
 */
#include <stddef.h>

#include "flame/without_picture.h"

int without_picture_check(const struct opt_set *set)
{
	static const char *const about_picture[] = { "inverted", "title",     "subtitle",
						     "width",	 "min-width", NULL };
	static const char *const about_values[] = { "unit", "durations", NULL };
	bool is_merge = opts_given(set, "merge");
	const char *where = is_merge ? "with --merge" : "with --top";
	int err;

	if (!is_merge && !opts_given(set, "top"))
		return 0;
	err = opts_refuse(set, about_picture, where);
	return !err && is_merge ? opts_refuse(set, about_values, where) : err;
}
