// SPDX-License-Identifier: GPL-2.0-only
/* Receives stacks; see stack_rings.h. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/loop.h"
#include "base/msg.h"
#include "stacks/resolver.h"
#include "stacks/stack_rings.h"
#include "stacks/user_stacks.h"

#define TICK_NS (5 * NS_PER_S)

static bool has_functions(const struct stack_def *def)
{
	return stack_count_native(def) < def->n_words;
}

/* Lets the loader search for what the walk lacked. */
static void learn(const struct stack_rings *rings, const struct stack_def *def)
{
	bool is_cut = def->reason == UNWIND_BAD_RULE || def->reason == UNWIND_NO_MAPPING;
	pid_t pid = (pid_t)def->tgid;

	if (is_cut || !has_functions(def))
		user_stacks_miss_functions(rings->user_stacks, pid, has_functions(def));
	if (def->reason == UNWIND_NO_PROCESS || def->reason == UNWIND_NO_MAPPING)
		user_stacks_learn(rings->user_stacks, pid);
}

static int on_definition(void *ctx, void *data, size_t size)
{
	const struct stack_rings *rings = ctx;
	const struct stack_def *def = data;

	if (def->kind == STACK_EVENT) {
		rings->add_event(rings->run, data);
		return 0;
	}
	if (def->kind == STACK_FUNCTION) {
		resolver_add_function(rings->resolver, data, size);
		return 0;
	}
	resolver_add(rings->resolver, def, size);
	if (def->kind == STACK_USER)
		learn(rings, def);
	return 0;
}

/* Defines a stack that was walked here, not by BPF. */
static void define(const struct stack_rings *rings, struct stack_def *def, const uint64_t *words,
		   size_t n, int reason)
{
	def->kind = STACK_USER;
	def->n_words = (uint16_t)n;
	def->reason = (uint16_t)reason;
	for (size_t i = 0; i < n; i++)
		def->words[i] = words[i];
	resolver_add(rings->resolver, def, sizeof(*def));
}

static void define_function(const struct runtime_def *def, size_t size, void *arg)
{
	resolver_add_function(((const struct stack_rings *)arg)->resolver, def, size);
}

void stack_rings_define_thread(const struct stack_rings *rings, const struct unwind_thread *thread)
{
	struct stack_def def = { .id = thread->stack_id, .tgid = thread->tgid };
	const struct runtime_definer definer = { define_function, (void *)rings };
	struct unwind_copy *copy = user_stacks_copy_thread(rings->user_stacks, thread);
	uint64_t words[STACK_WORDS];
	int reason;
	size_t n = user_stacks_walk_thread(rings->user_stacks, thread, &definer, words, &reason);

	if (copy && reason == UNWIND_RAN_ON)
		n = user_stacks_walk_copy(rings->user_stacks, copy, words, STACK_DEPTH, &reason);
	free(copy);
	def.generation = (uint32_t)thread->generation;
	def.map_size = UINT64_MAX; /* the perf map's latest lines apply */
	define(rings, &def, words, n, reason);
}

/* Makes an id from the words and from the process's mappings, which give words their meaning. */
static uint64_t make_id(const struct stack_rings *rings, const struct stack_def *def,
			const uint64_t *words)
{
	struct processes *processes = user_stacks_processes(rings->user_stacks);
	uint64_t hash = hash_words(words, def->n_words);

	hash = hash_add(hash, processes_state(processes, (pid_t)def->tgid, clock_now_ns()));
	hash = hash_add(hash, def->tgid) & ~STACK_ID_FOLDED;
	return hash ? hash : 1;
}

uint64_t stack_rings_define(const struct stack_rings *rings, pid_t tgid, const uint64_t *words,
			    size_t n, int reason)
{
	struct stack_def def = { .tgid = (uint32_t)tgid };

	if (n > STACK_DEPTH) {
		n = STACK_DEPTH;
		reason = UNWIND_DEPTH;
	}
	def.n_words = (uint16_t)n;
	def.id = make_id(rings, &def, words);
	define(rings, &def, words, n, reason);
	return def.id;
}

/* Handles the copy of a stack for which BPF had no tables. */
static int on_copy(void *ctx, void *data, size_t size)
{
	const struct stack_rings *rings = ctx;
	const struct unwind_copy *copy = data;
	struct stack_def def = {};
	uint64_t words[STACK_DEPTH];
	int reason;
	size_t n;

	if (size < sizeof(*copy) || copy->n_bytes > size - sizeof(*copy))
		return 0;
	words[0] = copy->leaf;
	n = copy->leaf != 0;
	n += user_stacks_walk_copy(rings->user_stacks, copy, words + n, STACK_DEPTH - n, &reason);
	def.id = copy->id;
	def.tgid = copy->tgid;
	def.generation = copy->generation;
	def.time_ns = copy->time_ns;
	def.map_size = copy->map_size;
	define(rings, &def, words, n, reason);
	return 0;
}

static enum loop_verdict tick(int fd, void *arg)
{
	const struct stack_rings *rings = arg;
	struct run *run = rings->run;
	uint64_t n_ticks;

	if (read(fd, &n_ticks, sizeof(n_ticks)) <= 0)
		return LOOP_GO;
	resolver_tick(rings->resolver, clock_now_ns());
	if (user_stacks_take_described(rings->user_stacks) && run->tool->start_more)
		run->tool->start_more(run);
	return LOOP_GO;
}

int stack_rings_open(struct stack_rings *rings, void (*then)(struct run *run))
{
	struct run *run = rings->run;

	rings->definitions = ringbuf_watch(run, "stack_defs", on_definition, rings);
	if (!rings->definitions)
		return -EIO;
	ringbuf_then(rings->definitions, then);
	rings->timer_fd = loop_every(run->loop, TICK_NS, tick, rings);
	if (rings->timer_fd < 0)
		return msg_errno(rings->timer_fd, "timer: setup failed");
	if (!user_stacks_makes_copies(rings->user_stacks) || !map_find(run, "unwind_copies"))
		return 0;
	rings->copies = ringbuf_watch(run, "unwind_copies", on_copy, rings);
	return rings->copies ? 0 : -EIO;
}

void stack_rings_read(struct stack_rings *rings)
{
	ringbuf_read(rings->definitions);
	ringbuf_read(rings->copies);
}

void stack_rings_catch_up(void *arg)
{
	struct stack_rings *rings = arg;

	user_stacks_catch_up(rings->user_stacks);
	stack_rings_read(rings);
}

void stack_rings_close(struct stack_rings *rings)
{
	ringbuf_close(rings->definitions);
	ringbuf_close(rings->copies);
	if (rings->timer_fd > 0)
		close(rings->timer_fd);
}

/* Everything BPF sent for this process predates its exit. */
static void on_exit_of(pid_t pid, void *arg)
{
	struct stack_rings *rings = arg;

	stack_rings_read(rings);
	resolver_process_ended(rings->resolver, pid);
}

void stack_rings_watch_exits(struct stack_rings *rings, struct watch *watch)
{
	struct watch_handlers handlers = { .exited = on_exit_of, .arg = rings };

	if (watch)
		watch_subscribe(watch, &handlers);
}
