// SPDX-License-Identifier: GPL-2.0-only
/* Python as a runtime; see python.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/container.h"
#include "base/mem.h"
#include "runtimes/python/code.h"
#include "runtimes/python/layout.h"
#include "runtimes/python/place.h"
#include "runtimes/python/python.h"
#include "runtimes/python/walk.h"

struct build {
	struct runtime_file file;
	struct python_file python;
	int32_t place; /* offset of thread states in earlier processes; 0: unknown */
};

static struct build *build_of(const struct runtime_instance *instance)
{
	return container_of(instance->file, struct build, file);
}

static struct runtime_file *recognize(const struct elf64 *elf)
{
	struct python_file python;
	struct build *build;

	if (python_file_read(&python, elf))
		return NULL;
	build = mem_zalloc(1, sizeof(*build));
	build->python = python;
	build->file.code = &python_code;
	build->file.kind = python.layout.eval_begin ? RUNTIME_PYTHON_OLD : RUNTIME_PYTHON;
	build->file.refused = python.refused;
	snprintf(build->file.title, sizeof(build->file.title), "Python %u.%u", python.version >> 24,
		 python.version >> 16 & 255);
	return &build->file;
}

/* Returns pthread_self() relative to the thread pointer. */
static int32_t self_offset(const struct runtime_instance *instance)
{
	return build_of(instance)->python.has_threads_below ? -(int32_t)instance->thread_bytes : 0;
}

/* Searches for the offset of thread states. known: the previous one; 0: none. */
static int32_t find_place(const struct runtime_instance *instance, int32_t known, bool *has_threads)
{
	const struct python_process process = {
		.pid = instance->pid,
		.python = &build_of(instance)->python,
		.bias = instance->bias,
		.self_offset = self_offset(instance),
	};

	return python_place_find(&process, known, has_threads);
}

/*
 * Uses the offset found in earlier processes, if any; with a wrong one, stacks have no frames.
 * Without an offset, a process has frames as long as it has a single thread.
 */
static int describe(const struct runtime_instance *instance, struct runtime_process *process)
{
	struct build *build = build_of(instance);
	struct python_layout *layout = &process->python;
	bool has_threads;

	if (build->python.has_threads_below && !instance->thread_bytes)
		return -EAGAIN; /* the C library is not mapped yet */
	*layout = build->python.layout;
	layout->code_type += instance->bias;
	layout->runtime = build->python.runtime + instance->bias;
	if (layout->eval_begin)
		layout->eval_begin += instance->bias;
	layout->self_offset = self_offset(instance);
	if (!build->place)
		build->place = find_place(instance, 0, &has_threads);
	layout->state_offset = build->place;
	return 0;
}

/*
 * Searches again. Settled if the process has Python threads: not all threads need to run Python, so
 * stacks without frames are normal.
 */
static bool look_again(struct runtime_instance *instance, struct runtime_process *process,
		       bool *is_settled)
{
	struct python_layout *layout = &process->python;
	int32_t place = find_place(instance, layout->state_offset, is_settled);

	if (!place || place == layout->state_offset)
		return false;
	layout->state_offset = build_of(instance)->place = place;
	return true;
}

static struct runtime_function *read_function(const struct runtime_def *header, size_t size)
{
	const struct python_def *def = (const struct python_def *)header;
	struct runtime_function *f;

	if (size < offsetof(struct python_def, lines) ||
	    def->n_lines > size - offsetof(struct python_def, lines))
		return NULL;
	f = mem_zalloc(1, sizeof(*f) + def->n_lines);
	if (def->has_file)
		f->file = python_text_decode(&def->file_text, def->file, PYTHON_FILE_BYTES - 4);
	f->name = python_text_decode(&def->name_text, def->name, PYTHON_NAME_BYTES - 1);
	f->first_line = def->first_line;
	f->lines_kind = def->lines_kind;
	f->n_lines = def->n_lines;
	memcpy(f->lines, def->lines, def->n_lines);
	return f;
}

static size_t find_line(struct runtime_instance *instance, const struct runtime_function *f,
			const struct runtime_position *position, struct runtime_call *calls)
{
	(void)instance;
	if (!position->has_index)
		return 0;
	calls[0] = (struct runtime_call){ .line = python_line(f->lines_kind, f->lines, f->n_lines,
							      f->first_line,
							      (uint32_t)position->index) };
	return 1;
}

const struct runtime_code python_code = {
	.kinds = RUNTIME_BIT(RUNTIME_PYTHON) | RUNTIME_BIT(RUNTIME_PYTHON_OLD),
	.recognize = recognize,
	.describe = describe,
	.look_again = look_again,
	.read = read_function,
	.resolve = find_line,
	.walk = python_walk_remote,
};
