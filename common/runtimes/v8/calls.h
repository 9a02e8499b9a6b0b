/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Functions that V8's frames run, in one process: resolved by address when a stack arrives. Names
 * and results are cached; a result is valid as long as the code at its address is the same.
 */
#ifndef V8_CALLS_H
#define V8_CALLS_H

#include "runtimes/runtime.h"
#include "runtimes/v8/layout.h"

struct v8_calls;

struct v8_calls *v8_calls_new(pid_t pid, const struct v8_file *v8, bool lines);
void v8_calls_free(struct v8_calls *calls);

/* Implements resolve() of struct runtime_code. */
size_t v8_calls_resolve(struct v8_calls *calls, const struct runtime_function *function,
			const struct runtime_position *position, struct runtime_call *to);

/* Implements read() of struct runtime_code. */
struct runtime_function *v8_function_read(const struct runtime_def *def, size_t size);

#endif
