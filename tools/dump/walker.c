// SPDX-License-Identifier: GPL-2.0-only
/* Walks stacks without BPF; see walker.h. */
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "abi/stack.h"
#include "base/mem.h"
#include "base/peek.h"
#include "dump/walker.h"
#include "runtimes/runtimes.h"
#include "stacks/runtime_frames.h"
#include "unwind/unwind_procs.h"

#define MAPPINGS_MAX 65536

struct walker {
	struct unwind_backing backing;
	struct unwind_tables *tables;
	struct unwind_mapping *mappings;
	struct unwind_procs *procs;
	bool lines;			  /* lines of managed functions are requested */
	pid_t pid;			  /* process whose threads are walked */
	struct runtime_instance instance; /* file NULL: no managed runtime */
	struct runtime_process process;
};

/* ---- memory of the tables ---- */

static struct unwind_shard *new_shard(uint32_t n, void *arg)
{
	(void)n;
	(void)arg;
	return mem_zalloc(1, sizeof(struct unwind_shard));
}

static void drop_shard(uint32_t n, struct unwind_shard *shard, void *arg)
{
	(void)n;
	(void)arg;
	free(shard);
}

struct walker *walker_new(struct processes *processes, bool lines)
{
	struct walker *walker = mem_zalloc(1, sizeof(*walker));
	struct unwind_backing *backing = &walker->backing;

	walker->lines = lines;
	backing->rules = mem_zalloc(UNWIND_MAX_RULES, sizeof(*backing->rules));
	backing->pages = mem_zalloc(UNWIND_MAX_PAGES, sizeof(*backing->pages));
	backing->patterns = mem_zalloc(UNWIND_MAX_PATTERNS, sizeof(*backing->patterns));
	backing->max_pages = UNWIND_MAX_PAGES;
	backing->new_shard = new_shard;
	backing->drop_shard = drop_shard;
	walker->mappings = mem_zalloc(MAPPINGS_MAX, sizeof(*walker->mappings));
	walker->tables = unwind_tables_new(backing);
	walker->procs = unwind_procs_new(processes, walker->tables, walker->mappings, MAPPINGS_MAX);
	return walker;
}

static void end_runtime(struct walker *walker)
{
	if (walker->instance.state)
		walker->instance.file->code->release(&walker->instance);
	free(walker->instance.file);
	walker->instance = (struct runtime_instance){};
}

void walker_free(struct walker *walker)
{
	end_runtime(walker);
	unwind_procs_free(walker->procs);
	unwind_tables_free(walker->tables);
	free((void *)walker->backing.rules);
	free((void *)walker->backing.pages);
	free((void *)walker->backing.patterns);
	free(walker->mappings);
	free(walker);
}

/* ---- managed runtimes ---- */

/* Finds a process's runtime, if its frames can be walked. False: there is none. */
static bool find_runtime(struct walker *walker, struct maps *maps)
{
	struct runtime_instance *instance = &walker->instance;

	for (size_t i = 0; i < maps->count; i++) {
		struct mapped *m = &maps->items[i];
		struct file *file = m->name->ino ? mapped_file(maps, m, walker->pid) : NULL;

		if (!file || !file->is_elf)
			continue;
		if (!instance->thread_bytes)
			instance->thread_bytes = runtime_thread_bytes(&file->elf);
		if (instance->file)
			continue;
		instance->file = runtime_recognize(&file->elf);
		if (instance->file)
			instance->bias = m->start - elfsegs_vaddr(&file->segs, m->offset);
	}
	return instance->file && !instance->file->refused;
}

static void begin_runtime(struct walker *walker, struct maps *maps)
{
	const struct runtime_code *code;

	walker->instance.pid = walker->pid;
	walker->instance.lines = walker->lines;
	walker->process = (struct runtime_process){};
	if (!find_runtime(walker, maps)) {
		end_runtime(walker);
		return;
	}
	code = walker->instance.file->code;
	walker->process.kind = walker->instance.file->kind;
	if (!code->walk || code->describe(&walker->instance, &walker->process))
		end_runtime(walker);
}

void walker_begin(struct walker *walker, pid_t pid, struct maps *maps)
{
	struct unwind_process slice;

	walker->pid = pid;
	end_runtime(walker);
	unwind_procs_update(walker->procs, pid, 0, &slice);
	if (maps)
		begin_runtime(walker, maps);
}

struct runtime_instance *walker_runtime(pid_t pid, void *arg)
{
	struct walker *walker = arg;

	return walker->instance.file && walker->pid == pid ? &walker->instance : NULL;
}

/*
 * Finds the thread pointer of a thread of the GNU C library on x86-64: the kernel knows the address
 * of the robust list, which is in struct pthread (nptl/descr.h), as is a pointer to the latter.
 * 0: unknown.
 */
static uint64_t find_thread_base(pid_t pid, pid_t tid)
{
	enum { LIST = 0x2e0, SELF = 0x10 };
	struct robust_list_head *list = NULL;
	uint64_t base, self;
	size_t size;

	if (syscall(SYS_get_robust_list, tid, &list, &size) || !list)
		return 0;
	base = (uint64_t)(uintptr_t)list - LIST;
	return peek_all(pid, base + SELF, &self, sizeof(self)) && self == base ? base : 0;
}

/* Returns true if frames are found by the thread pointer, not on the native stack. */
static bool needs_base(const struct walker *walker)
{
	return !(RUNTIME_BIT(walker->process.kind) & RUNTIME_ON_STACK);
}

static size_t walk_user(struct walker *walker, struct unwind_thread *thread,
			const struct runtime_definer *definer, uint64_t *words, int *reason)
{
	struct unwind_mappings mappings = unwind_procs_published(walker->procs, walker->pid);
	struct native_frames frames = {};
	struct unwind_view view = { .pid = walker->pid,
				    .tables = mappings.count ? walker->tables : NULL,
				    .mappings = mappings.items,
				    .n_mappings = mappings.count,
				    .framed = frames.framed,
				    .sps = frames.sps,
				    .bps = frames.bps };
	size_t n;

	if (walker->instance.file) {
		view.runtime = &walker->process;
		view.leave = walker->instance.file->code->leave;
	}
	thread->regs.thread_base = find_thread_base(walker->pid, (pid_t)thread->tid);
	n = unwind_walk_thread(&view, thread, words, STACK_DEPTH, reason);
	if (!walker->instance.file || *reason == UNWIND_RAN_ON ||
	    (needs_base(walker) && !thread->regs.thread_base))
		return n;
	return runtime_frames_append(&walker->process, walker->lines, thread, definer, &frames, n,
				     words, reason);
}

size_t walker_walk(struct walker *walker, struct unwind_thread *thread,
		   const struct runtime_definer *definer, uint64_t *words, int *reason)
{
	size_t n = 0;

	*reason = UNWIND_NO_STACK;
	if (thread->regs.ip)
		n = walk_user(walker, thread, definer, words, reason);
	if (unwind_count_arrivals(thread->tgid, thread->tid) != thread->arrivals)
		*reason = UNWIND_RAN_ON;
	return n;
}
