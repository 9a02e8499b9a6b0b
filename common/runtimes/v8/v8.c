// SPDX-License-Identifier: GPL-2.0-only
/* V8 as a runtime; see v8.h. */
#include <stdio.h>

#include "base/container.h"
#include "base/mem.h"
#include "runtimes/v8/calls.h"
#include "runtimes/v8/layout.h"
#include "runtimes/v8/v8.h"
#include "runtimes/v8/walk.h"

struct build {
	struct runtime_file file;
	struct v8_file v8;
};

static struct build *build_of(const struct runtime_instance *instance)
{
	return container_of(instance->file, struct build, file);
}

static struct runtime_file *recognize(const struct elf64 *elf)
{
	struct v8_file v8;
	struct build *build;

	if (v8_file_read(&v8, elf))
		return NULL;
	build = mem_zalloc(1, sizeof(*build));
	build->v8 = v8;
	build->file.code = &v8_code;
	build->file.kind = RUNTIME_V8;
	build->file.refused = v8.refused;
	snprintf(build->file.title, sizeof(build->file.title), "V8 %u.%u", v8.major, v8.minor);
	return &build->file;
}

static int describe(const struct runtime_instance *instance, struct runtime_process *process)
{
	process->v8 = build_of(instance)->v8.layout;
	return 0;
}

static size_t resolve(struct runtime_instance *instance, const struct runtime_function *function,
		      const struct runtime_position *position, struct runtime_call *calls)
{
	if (!instance)
		return 0;
	if (!instance->state)
		instance->state =
			v8_calls_new(instance->pid, &build_of(instance)->v8, instance->lines);
	return v8_calls_resolve(instance->state, function, position, calls);
}

static void release(struct runtime_instance *instance)
{
	v8_calls_free(instance->state);
}

const struct runtime_code v8_code = {
	.kinds = RUNTIME_BIT(RUNTIME_V8),
	.recognize = recognize,
	.describe = describe,
	.read = v8_function_read,
	.resolve = resolve,
	.release = release,
	.walk = v8_walk_remote,
};
