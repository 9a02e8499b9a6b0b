/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Helpers of the tests of Python's frames. TRACELETS_PYTHON: another interpreter than the system's;
 * TRACELETS_PYTHON_SECONDS and _HZ: for more samples of it.
 */
#ifndef PYTHON_H
#define PYTHON_H

#include "live.h"

#define PYTHON	  "/usr/bin/python3"
#define EVALUATOR "_PyEval_EvalFrameDefault"

/* How long the program is looked at, and how often in a second. */
static inline const char *python_setting(const char *name, const char *usual)
{
	const char *value = getenv(name);

	return value ? value : usual;
}

static inline const char *python_path(void)
{
	return python_setting("TRACELETS_PYTHON", PYTHON);
}

static inline const char *python_seconds(void)
{
	return python_setting("TRACELETS_PYTHON_SECONDS", text_of("%d", at_size(3, 1)));
}

/* A file of that name with that text. */
static inline const char *python_script(const char *name, const char *text)
{
	const char *script = text_of("%s/%s", folder_make(), name);

	CHECK(file_write(script, text));
	return script;
}

#define python_start(script, ...) \
	work_start_in(NULL, NULL, python_path(), ARGV("python3", script, __VA_ARGS__))

/* Samples the program until it is done, with lines. */
static inline struct proc *python_sample(struct proc *work)
{
	return trace_pid(work, "profile", "-U", "-f", "--lines", "-F",
			 python_setting("TRACELETS_PYTHON_HZ", "1999"));
}

static inline const char *python_lacks(void)
{
	return access(python_path(), X_OK) ? "there is no python3" : NULL;
}

/* Per cent of its stacks with all functions, as profile says. */
static inline double python_share(const struct proc *tool)
{
	static const char before[] = "managed runtimes: ";
	const char *line = strstr(tool->err, before);

	return line ? strtod(line + strlen(before), NULL) : 0;
}

/*
 * The interpreter also if it has a function for each instruction of byte code. Of such a one
 * without symbols this is never seen.
 */
static inline bool python_runs(const char *line, const char *end)
{
	return memmem(line, (size_t)(end - line), EVALUATOR, strlen(EVALUATOR)) ||
	       memmem(line, (size_t)(end - line), "_TAIL_CALL_", strlen("_TAIL_CALL_"));
}

/* A frame in Python, by its file; its length, or 0. */
static inline size_t python_frame(const char *frame)
{
	size_t length = strcspn(frame, ";\n");
	const char *at = memmem(frame, length, ".py:", 4);

	if (!at)
		at = memmem(frame, length, ".py)", 4);
	if (!at)
		return 0;
	return (size_t)(strchr(at, ')') + 1 - frame);
}

#endif
