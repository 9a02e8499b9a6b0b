/* SPDX-License-Identifier: GPL-2.0-only */
/* V8 in Node.js as a runtime: functions in native frames, those inlined into them, and lines. */
#ifndef V8_H
#define V8_H

#include "runtimes/runtime.h"
#include "runtimes/v8/heap.h"

extern const struct runtime_code v8_code;

/*
 * Functions that frames run, in one process: resolved by address when a stack arrives. Names and
 * results are cached; a result is valid as long as the code at its address is the same.
 */
struct v8_calls;

struct v8_calls *v8_calls_new(pid_t pid, const struct v8_file *v8, bool lines);
void v8_calls_free(struct v8_calls *calls);

/* Implements resolve() of struct runtime_code. */
size_t v8_calls_resolve(struct v8_calls *calls, const struct runtime_function *function,
			const struct runtime_position *position, struct runtime_call *to);

/* Implements read() of struct runtime_code. */
struct runtime_function *v8_function_read(const struct runtime_def *def, size_t size);

/*
 * Lines of scripts. V8 finds out where lines end only for errors, so the source is read once per
 * script, and the ends of its lines are cached.
 */

struct v8_location {
	uint32_t line, column; /* numbers from 1 on; 0: unknown */
};

struct v8_lines *v8_lines_new(void);
void v8_lines_free(struct v8_lines *lines);

/* Finds a position in a script's source. False: unknown, or the script's id is not script_id. */
bool v8_lines_find(struct v8_lines *lines, const struct v8_heap *heap, uint64_t script,
		   uint32_t script_id, int32_t position, struct v8_location *location);

#endif
