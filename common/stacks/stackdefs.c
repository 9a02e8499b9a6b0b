// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stack definitions; see stackdefs.h. Each is of one process, and refers to an interned stack that
 * others may have, too. Definitions of a process are in a list, to be released when it has exited.
 */
#include <stdlib.h>
#include <string.h>

#include "abi/unwind_layout.h"
#include "base/container.h"
#include "base/hash.h"
#include "base/mem.h"
#include "runtimes/python_codes.h"
#include "stacks/stackdefs.h"
#include "stacks/traces.h"

/*
 * How often the counts have been taken away since a process ended when nothing of it can be counted
 * any more: what its threads did last may be counted late, by those who they have woken up.
 */
#define TURNS_KEPT 2

/*
 * For live processes: turns without a count, then turns without being sent again; or windows, of
 * which the last may begin while BPF still has an id that is to be sent again.
 */
#define TURNS_UNUSED   4
#define WINDOWS_UNUSED 2

struct definition {
	struct hashlink link; /* by id */
	uint64_t id;
	struct trace *trace;
	struct definition *next; /* of the same process */
	uint32_t used_age;
	bool is_leaving; /* BPF sends it again */
};

struct owner {
	struct hashlink link; /* by pid */
	pid_t pid;
	struct definition *first;
	struct owner *next; /* among those that have ended */
	uint32_t ended_turn;
};

struct stackdefs {
	struct traces *traces;
	struct hashtable definitions, owners;
	struct owner *ended, **ended_tail;
	uint32_t n_turns, age; /* in turns, or in windows */
	bool by_window;
};

struct stackdefs *stackdefs_new(struct processes *processes, const struct dso_options *options)
{
	struct stackdefs *defs = mem_zalloc(1, sizeof(*defs));

	defs->traces = traces_new(processes, options);
	defs->ended_tail = &defs->ended;
	return defs;
}

void stackdefs_free(struct stackdefs *defs)
{
	if (!defs)
		return;
	for (struct owner *owner = defs->ended, *next; owner; owner = next) {
		next = owner->next;
		free(owner);
	}
	hashtable_free(&defs->definitions, hashlink_free, NULL);
	hashtable_free(&defs->owners, hashlink_free, NULL);
	traces_free(defs->traces);
	free(defs);
}

void stackdefs_set_kernelnames(struct stackdefs *defs, struct kernelnames *names)
{
	traces_set_kernelnames(defs->traces, names);
}

void stackdefs_set_own(struct stackdefs *defs, uint64_t *programs, size_t n)
{
	traces_set_own(defs->traces, programs, n);
}

void stackdefs_preload(struct stackdefs *defs, pid_t pid, uint32_t generation)
{
	traces_preload(defs->traces, pid, generation);
}

void stackdefs_add_python(struct stackdefs *defs, const struct python_def *def, size_t size)
{
	python_codes_add(traces_codes(defs->traces), def, size);
}

void stackdefs_look_up(struct stackdefs *defs, void (*meanwhile)(void *arg), void *arg)
{
	traces_look_up(defs->traces, meanwhile, arg);
}

struct dso_stats stackdefs_stats(const struct stackdefs *defs)
{
	return traces_stats(defs->traces);
}

/* ---- processes ---- */

static struct owner *find_owner(const struct stackdefs *defs, pid_t pid)
{
	struct hashlink *link = hashtable_first(&defs->owners, hash_pid(pid));

	return link ? container_of(link, struct owner, link) : NULL; /* one pid, one hash */
}

static struct owner *get_owner(struct stackdefs *defs, pid_t pid)
{
	struct owner *owner = find_owner(defs, pid);

	if (owner)
		return owner;
	owner = mem_zalloc(1, sizeof(*owner));
	owner->pid = pid;
	hashtable_add(&defs->owners, &owner->link, hash_pid(pid));
	return owner;
}

/*
 * Its pid may be another's from now on, who is another owner. If all its stacks were released
 * before, the words of its Python functions are still there.
 */
void stackdefs_end_process(struct stackdefs *defs, pid_t pid)
{
	struct owner *owner = find_owner(defs, pid);

	if (!owner && python_codes_knows(traces_codes(defs->traces), pid))
		owner = get_owner(defs, pid);
	if (!owner)
		return;
	hashtable_remove(&defs->owners, &owner->link);
	owner->ended_turn = defs->n_turns;
	owner->next = NULL;
	*defs->ended_tail = owner;
	defs->ended_tail = &owner->next;
}

/* ---- definitions ---- */

static struct definition *find_definition(const struct stackdefs *defs, uint64_t id)
{
	struct hashlink *link = hashtable_first(&defs->definitions, id);

	return link ? container_of(link, struct definition, link) : NULL; /* ids are unique */
}

static struct definition *use_definition(const struct stackdefs *defs, uint64_t id)
{
	struct definition *definition = id ? find_definition(defs, id) : NULL;

	if (definition)
		definition->used_age = defs->age;
	return definition;
}

void stackdefs_use(struct stackdefs *defs, uint64_t id)
{
	const struct definition *definition = use_definition(defs, id);

	if (!definition || definition->trace->kind != STACK_WAKER)
		return;
	for (int i = 0; i < WAKER_STACKS; i++)
		use_definition(defs, definition->trace->waker[i]);
}

static bool is_sound(const struct stack_def *def, size_t size)
{
	return size >= offsetof(struct stack_def, words) && def->n_words <= STACK_WORDS &&
	       size >= offsetof(struct stack_def, words) + def->n_words * sizeof(def->words[0]) &&
	       (def->kind != STACK_WAKER || def->n_words == WAKER_WORDS);
}

void stackdefs_add(struct stackdefs *defs, const struct stack_def *def, size_t size)
{
	struct definition *definition;
	struct owner *owner;

	if (!is_sound(def, size))
		return;
	definition = use_definition(defs, def->id);
	if (definition) {
		definition->is_leaving = false;
		return;
	}
	definition = mem_zalloc(1, sizeof(*definition));
	definition->id = def->id;
	definition->used_age = defs->age;
	definition->trace = traces_add(defs->traces, def);
	definition->trace->n_users++;
	hashtable_add(&defs->definitions, &definition->link, def->id);
	owner = get_owner(defs, (pid_t)def->tgid); /* 0: the kernel, which doesn't end */
	definition->next = owner->first;
	owner->first = definition;
}

static struct trace *find_trace(const struct stackdefs *defs, uint64_t id)
{
	struct definition *definition;

	if ((id & STACK_ID_FOLDED) == STACK_ID_FOLDED)
		return traces_find(defs->traces, id);
	definition = use_definition(defs, id);
	return definition ? traces_find(defs->traces, definition->trace->id) : NULL;
}

/* A waker's own stacks are folded with it. A record may claim a waker as a stack: don't recurse. */
uint64_t stackdefs_fold(struct stackdefs *defs, uint64_t id)
{
	struct trace *trace = find_trace(defs, id), *stack;
	uint64_t words[WAKER_WORDS];

	if (!trace)
		return id;
	if (trace->kind != STACK_WAKER)
		return trace->id;
	memcpy(words, trace->waker, sizeof(words));
	for (int i = 0; i < WAKER_STACKS; i++) {
		stack = find_trace(defs, words[i]);
		if (stack && stack->kind != STACK_WAKER)
			words[i] = stack->id;
	}
	return traces_add_waker(defs->traces, words)->id;
}

static void free_known(struct stackdefs *defs, struct definition *d)
{
	hashtable_remove(&defs->definitions, &d->link);
	d->trace->n_users--;
	free(d);
}

static void release(struct stackdefs *defs, struct owner *owner,
		    void (*forgotten)(uint64_t id, void *arg), void *arg)
{
	for (struct definition *d = owner->first, *next; d; d = next) {
		next = d->next;
		forgotten(d->id, arg);
		free_known(defs, d);
	}
	if (!find_owner(defs, owner->pid)) /* else the pid is another's already */
		python_codes_forget(traces_codes(defs->traces), owner->pid);
	free(owner);
}

struct forgetting {
	struct stackdefs *defs;
	void (*forgotten)(uint64_t id, void *arg);
	void *arg;
};

/*
 * First BPF is to send a definition again if its stack comes again; only when it has not for some
 * turns can nothing be counted under its name that was not sent.
 */
static void forget_unused(struct hashlink *link, void *arg)
{
	struct owner *owner = container_of(link, struct owner, link);
	const struct forgetting *f = arg;
	uint32_t unused = f->defs->by_window ? WINDOWS_UNUSED : TURNS_UNUSED;

	for (struct definition **at = &owner->first, *d; (d = *at);) {
		bool is_unused = d->used_age + unused <= f->defs->age;

		if (is_unused && d->is_leaving) {
			*at = d->next;
			free_known(f->defs, d);
			continue;
		}
		if (is_unused) {
			f->forgotten(d->id, f->arg);
			d->is_leaving = true;
			d->used_age = f->defs->age;
		}
		at = &d->next;
	}
	if (owner->first)
		return;
	hashtable_remove(&f->defs->owners, link);
	free(owner);
}

void stackdefs_count_by_window(struct stackdefs *defs)
{
	defs->by_window = true;
}

static void grow_older(struct stackdefs *defs, struct forgetting *forgetting)
{
	defs->age++;
	hashtable_visit(&defs->owners, forget_unused, forgetting);
}

void stackdefs_end_turn(struct stackdefs *defs, bool is_report,
			void (*forgotten)(uint64_t id, void *arg), void *arg)
{
	struct forgetting forgetting = { defs, forgotten, arg };
	struct owner *owner;

	defs->n_turns++;
	if (!defs->by_window || is_report)
		grow_older(defs, &forgetting);
	while ((owner = defs->ended) && owner->ended_turn + TURNS_KEPT <= defs->n_turns) {
		defs->ended = owner->next;
		if (!defs->ended)
			defs->ended_tail = &defs->ended;
		release(defs, owner, forgotten, arg);
	}
}

void stackdefs_release_files(struct stackdefs *defs)
{
	traces_release_files(defs->traces);
}

void stackdefs_end_report(struct stackdefs *defs)
{
	traces_end_report(defs->traces);
}

/* ---- what they say ---- */

struct frame_table *stackdefs_frame_table(struct stackdefs *defs)
{
	return traces_frame_table(defs->traces);
}

const struct frame *const *stackdefs_frames(struct stackdefs *defs, uint64_t id, size_t *n)
{
	struct trace *trace = find_trace(defs, id);

	*n = 0;
	if (!trace || trace->kind == STACK_WAKER)
		return NULL;
	return trace_frames(defs->traces, trace, n);
}

const uint64_t *stackdefs_waker(const struct stackdefs *defs, uint64_t id)
{
	const struct trace *trace = find_trace(defs, id);

	return trace && trace->kind == STACK_WAKER ? trace->waker : NULL;
}

const struct stack_flaw *stackdefs_flaw(const struct stackdefs *defs, uint64_t id)
{
	const struct trace *trace = find_trace(defs, id);

	return trace && trace->kind == STACK_USER ? &trace->flaw : NULL;
}

int stackdefs_reason(const struct stackdefs *defs, uint64_t id)
{
	const struct trace *trace = find_trace(defs, id);

	return trace && trace->kind == STACK_USER ? (int)trace->reason : UNWIND_GOES_ON;
}
