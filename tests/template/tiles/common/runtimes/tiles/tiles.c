// SPDX-License-Identifier: GPL-2.0-only
/* Implements struct runtime_code for tiles; see abi/tiles.h. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>

#include "abi/stack.h"
#include "base/container.h"
#include "base/mem.h"
#include "base/peek.h"
#include "elf/elfexports.h"
#include "runtimes/tiles/tiles.h"
#include "unwind/unwind_remote.h"

#define unwind_read unwind_remote_read
#include "unwind/walk_outside.h"

#include "abi/tiles_walk.h"

struct build {
	struct runtime_file file;
	uint64_t layout_vaddr;
};

static struct runtime_file *recognize(const struct elf64 *elf)
{
	struct build *build;
	Elf64_Sym symbol;

	if (elfexports_find_symbol(elf, "tiles_code", &symbol))
		return NULL;
	build = mem_zalloc(1, sizeof(*build));
	build->layout_vaddr = symbol.st_value;
	build->file.code = &tiles_code;
	build->file.kind = RUNTIME_TILES;
	snprintf(build->file.title, sizeof(build->file.title), "Tiles");
	return &build->file;
}

static int describe(const struct runtime_instance *instance, struct runtime_process *process)
{
	const struct build *build = container_of(instance->file, struct build, file);
	uint64_t at = instance->bias + build->layout_vaddr;

	if (!peek_all(instance->pid, at, &process->tiles, sizeof(process->tiles)))
		return -EIO;
	return process->tiles.high ? 0 : -EAGAIN;
}

static struct runtime_function *read_function(const struct runtime_def *header, size_t size)
{
	const struct tiles_def *def = (const struct tiles_def *)header;
	struct runtime_function *f;

	if (size < sizeof(*def))
		return NULL;
	f = mem_zalloc(1, sizeof(*f));
	f->name = mem_strndup(def->name, sizeof(def->name));
	return f;
}

static size_t resolve(struct runtime_instance *instance, const struct runtime_function *function,
		      const struct runtime_position *position, struct runtime_call *calls)
{
	(void)instance;
	(void)function;
	(void)position;
	calls[0] = (struct runtime_call){ NULL, 0 };
	return 1;
}

static int leave(const struct unwind_view *view, struct unwind_state *s,
		 struct unwind_leaving *leaving)
{
	struct tiles_head head;

	(void)leaving;
	if (!tiles_has(&view->runtime->tiles, s->ip))
		return UNWIND_NO_RULE;
	if (!unwind_remote_read(s, &head, sizeof(head), tiles_at(s->ip)))
		return UNWIND_BAD_RULE;
	return tiles_leave(s, &head);
}

static size_t walk(const struct runtime_thread *thread, uint64_t *words, size_t max, bool *is_cut)
{
	size_t n = thread->n_native;
	struct tiles_walk w = {};

	for (size_t i = 0; i < thread->n_native && n + 2 <= max; i++) {
		uint64_t ip = stack_address(words[i]);

		if (!tiles_has(&thread->process.tiles, ip) ||
		    !peek_all(thread->tid, tiles_at(ip), &w.head, sizeof(w.head)))
			continue;
		tiles_define(&w, thread->process.serial, tiles_at(ip), thread->tgid, RUNTIME_TILES);
		thread->definer.define(&w.def.def, sizeof(w.def), thread->definer.arg);
		words[n++] = runtime_segment_word((uint32_t)i) | RUNTIME_REPLACES;
		words[n++] = w.def.def.word;
	}
	*is_cut = n + 2 > max;
	return n;
}

const struct runtime_code tiles_code = {
	.kinds = RUNTIME_BIT(RUNTIME_TILES),
	.recognize = recognize,
	.describe = describe,
	.read = read_function,
	.resolve = resolve,
	.leave = leave,
	.walk = walk,
};
