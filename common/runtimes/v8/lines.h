/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lines of scripts. V8 finds out where lines end only for errors, so the source is read once per
 * script, and the ends of its lines are cached.
 */
#ifndef V8_LINES_H
#define V8_LINES_H

#include "runtimes/v8/heap.h"

struct v8_lines *v8_lines_new(void);
void v8_lines_free(struct v8_lines *lines);

struct v8_location {
	uint32_t line, column; /* numbers from 1 on; 0: unknown */
};

/* Finds a position in a script's source. False: unknown, or the script's id is not script_id. */
bool v8_lines_find(struct v8_lines *lines, const struct v8_heap *heap, uint64_t script,
		   uint32_t script_id, int32_t position, struct v8_location *location);

#endif
