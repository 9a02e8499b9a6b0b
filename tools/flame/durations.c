// SPDX-License-Identifier: GPL-2.0-only
/* Parsing --durations; see durations.h. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/msg.h"
#include "base/parse.h"
#include "flame/durations.h"

int durations_parse(const char *what, const char *text, void *dest)
{
	char *before = mem_strdup(text), *after = strchr(before, ',');
	uint64_t before_ns = 0, after_ns = 0;
	int err;

	if (after)
		*after++ = '\0';
	err = after ? parse_duration(what, before, NS_PER_S, &before_ns)
		    : msg_error("%s: '%s' is not two durations (example: 10s,20s)", what, text);
	if (!err)
		err = parse_duration(what, after, NS_PER_S, &after_ns);
	if (!err && (!before_ns || !after_ns))
		err = msg_error("%s: a duration must be more than 0", what);
	if (!err)
		*(double *)dest = (double)after_ns / (double)before_ns;
	free(before);
	return err;
}
