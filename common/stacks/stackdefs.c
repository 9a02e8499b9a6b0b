// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stack definitions; see stackdefs.h. Each is of one process, and refers to an interned stack that
 * others may have, too. Definitions of a process are in a list, to be released when it has exited.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "abi/runtime.h"
#include "abi/stack.h"
#include "abi/unwind_layout.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/container.h"
#include "base/epoch.h"
#include "base/hash.h"
#include "base/hashtable.h"
#include "base/mem.h"
#include "output/frames.h"
#include "runtimes/meanings.h"
#include "stacks/places.h"
#include "stacks/stackdefs.h"
#include "symbols/ksyms.h"
#include "symbols/usyms.h"

/* ---- stack flaw ---- */

/* The walk stopped because of the code that it had reached. */
static bool is_cut(uint32_t reason)
{
	return reason == UNWIND_NO_RULE || reason == UNWIND_NO_MAPPING ||
	       reason == UNWIND_BAD_RULE || reason == UNWIND_FAULT || reason == UNWIND_NO_PROGRESS;
}

static const struct runtime *find_runtime(struct processes *processes, const struct stack_def *def)
{
	uint64_t time_ns = def->time_ns ? def->time_ns : clock_now_ns();
	struct maps *maps = processes_look(processes, (pid_t)def->tgid, def->generation, time_ns);
	const struct runtime *runtime = maps ? runtime_find(maps) : NULL;

	maps_release(maps);
	return runtime;
}

/* Finds the flaw of a stack that ends in code of a file. */
static struct stack_flaw flaw_of_file(const struct stack_def *def, const struct location *last)
{
	struct stack_flaw flaw = {};

	if (def->reason != UNWIND_NO_RULE || !last->dso)
		return flaw;
	flaw.kind = FLAW_CUT;
	flaw.file = usyms_dso_name(last);
	flaw.err = usyms_error(last);
	return flaw;
}

/*
 * Finds the flaw of a user stack whose n native locations are known, leaf first. The file's name is
 * the location's, see usyms_dso_name().
 */
static struct stack_flaw stack_flaw_find(struct processes *processes, const struct stack_def *def,
					 const struct place *places, uint32_t n)
{
	bool has_made = false, has_unnamed = false;
	struct stack_flaw flaw = {};

	if (n && !usyms_is_made(&places[n - 1].location))
		flaw = flaw_of_file(def, &places[n - 1].location);
	for (uint32_t i = 0; i < n; i++) {
		has_made |= usyms_is_made(&places[i].location);
		has_unnamed |=
			usyms_is_made(&places[i].location) && !usyms_is_jit(&places[i].location);
	}
	if (!has_made || flaw.kind)
		return flaw;
	flaw.runtime = find_runtime(processes, def);
	flaw.has_names = !has_unnamed;
	if (is_cut(def->reason) && usyms_is_made(&places[n - 1].location))
		flaw.kind = FLAW_CUT;
	else if (has_unnamed)
		flaw.kind = FLAW_UNNAMED;
	return flaw;
}

/* ---- functions of runtimes ---- */

/* The words of a stack that have not been converted to locations yet. */
struct rest {
	const struct meanings *meanings;
	const struct stack_def *def;
	uint32_t at;		      /* the next word */
	uint32_t begins[STACK_WORDS]; /* segments' words, by native frame */
	uint32_t n_begins, next;
	struct place *out;
	uint32_t n;
};

uint32_t stack_count_native(const struct stack_def *def)
{
	uint32_t n = 0;

	while (n < def->n_words && n < STACK_DEPTH && !runtime_is_word(def->words[n]))
		n++;
	return n;
}

static uint32_t frame_of(const struct rest *r, uint32_t segment)
{
	return runtime_segment_frame(r->def->words[r->begins[segment]]);
}

/* A thread's states (one per interpreter) come one after another, each with segments in order. */
static void add_segment(struct rest *r, uint32_t word)
{
	uint32_t i = r->n_begins++, frame = runtime_segment_frame(r->def->words[word]);

	for (; i && frame_of(r, i - 1) > frame; i--)
		r->begins[i] = r->begins[i - 1];
	r->begins[i] = word;
}

/* The next segment's native frame; UINT32_MAX: there is none. */
static uint32_t next_frame(const struct rest *r)
{
	return r->next < r->n_begins ? frame_of(r, r->next) : UINT32_MAX;
}

/* Appends the location of a frame's word; takes the word of its instruction, too, if present. */
static void append_rest(struct rest *r)
{
	struct place *place = &r->out[r->n++];
	uint32_t position;

	*place = (struct place){ .function = meanings_find(r->meanings, (pid_t)r->def->tgid,
							   r->def->words[r->at++]) };
	if (r->at >= r->def->n_words || runtime_is_word(r->def->words[r->at]))
		return;
	position = (uint32_t)r->def->words[r->at++];
	if (place->function->code)
		place->line = place->function->code->line(place->function, position);
}

static void append_segment(struct rest *r)
{
	r->at = r->begins[r->next++] + 1;
	while (r->at < r->def->n_words && runtime_is_word(r->def->words[r->at]) &&
	       !runtime_is_segment(r->def->words[r->at]))
		append_rest(r);
}

/*
 * Replaces native frames that run functions of a runtime by those functions. Locations of
 * the native frames are given, leaf first. out has space for as many locations as the stack has
 * words. Returns how many there are.
 */
static uint32_t merge_functions(const struct meanings *meanings, const struct stack_def *def,
				const struct place *native, struct place *out)
{
	uint32_t n_native = stack_count_native(def);
	struct rest r = { .meanings = meanings, .def = def, .out = out };

	for (uint32_t i = n_native; i < def->n_words; i++)
		if (runtime_is_segment(def->words[i]))
			add_segment(&r, i);
	for (uint32_t i = 0; i < n_native; i++) {
		if (next_frame(&r) != i)
			out[r.n++] = native[i];
		while (next_frame(&r) == i)
			append_segment(&r);
	}
	while (next_frame(&r) != UINT32_MAX)
		append_segment(&r);
	return r.n;
}

/* ---- traces ---- */

/*
 * Interned stacks: stacks by locations in files, equal for all processes that run the same code,
 * which they outlive. Names are looked up on demand.
 */

#define MANY_TRACES 4096

#define WAKER_WORDS  4 /* of STACK_WAKER: */
#define WAKER_STACKS 2 /* the first are stack ids */

struct trace {
	struct hashlink link;
	uint64_t id; /* with STACK_ID_FOLDED */
	uint32_t kind, reason;
	uint64_t waker[WAKER_WORDS]; /* words of STACK_WAKER, which has no locations */
	struct stack_flaw flaw;	     /* of a user stack */
	char *file;		     /* owned name of the flaw's file; NULL: none */
	unsigned int n_users;	     /* number of definitions that refer to it */
	uint32_t used;		     /* the latest epoch in which it was */
	bool is_trimmed;
	uint32_t n_trimmed; /* number of the tracer's own locations at the leaf */
	uint32_t n;
	struct known_place *places[]; /* leaf first */
};

struct kernelnames;
struct known_place;
struct traces;

struct traces {
	struct hashtable table; /* by id */
	struct processes *processes;
	struct usyms *usyms;
	struct meanings *meanings;
	struct places *places;
	const struct frame **frames; /* frames of the interned stack requested last, root first */
	size_t frames_cap;
	uint32_t epoch;
	uint64_t epoch_ns; /* its beginning */
	struct cache_age age;
};

/* The processes stay the caller's, and outlive this. */
static struct traces *traces_new(struct processes *processes, const struct dso_options *options)
{
	struct traces *traces = mem_zalloc(1, sizeof(*traces));

	traces->processes = processes;
	traces->epoch_ns = clock_now_ns();
	traces->usyms = usyms_new(processes, options);
	traces->meanings = meanings_new();
	traces->places = places_new(traces->usyms, options && options->places);
	return traces;
}

static void free_trace(struct trace *trace)
{
	free(trace->file);
	free(trace);
}

static void free_link(struct hashlink *link, void *arg)
{
	(void)arg;
	free_trace(container_of(link, struct trace, link));
}

static void traces_free(struct traces *traces)
{
	if (!traces)
		return;
	hashtable_free(&traces->table, free_link, NULL);
	places_free(traces->places);
	usyms_free(traces->usyms);
	meanings_free(traces->meanings);
	free(traces->frames);
	free(traces);
}

/* See stackdefs.h. */
static void traces_set_kernelnames(struct traces *traces, struct kernelnames *names)
{
	places_set_kernelnames(traces->places, names);
}

static void traces_set_own(struct traces *traces, uint64_t *programs, size_t n)
{
	places_set_own(traces->places, programs, n);
}

/* Returns the table of frames. Its entries may be gone after the report ends. */
static struct frame_table *traces_frame_table(struct traces *traces)
{
	return places_frame_table(traces->places);
}

/* ---- the table ---- */

static struct trace *find_id(const struct traces *traces, uint64_t id)
{
	struct hashlink *link = hashtable_first(&traces->table, id);

	return link ? container_of(link, struct trace, link) : NULL; /* ids are unique */
}

/* NULL: no interned stack with that id. */
static struct trace *traces_find(struct traces *traces, uint64_t id)
{
	struct trace *trace = find_id(traces, id);

	if (trace)
		trace->used = traces->age.epoch;
	return trace;
}

static size_t places_bytes(uint32_t n)
{
	return n * sizeof(struct known_place *);
}

static bool is_same(const struct trace *a, const struct trace *b)
{
	return a->kind == b->kind && a->reason == b->reason && a->n == b->n &&
	       a->flaw.runtime == b->flaw.runtime &&
	       !memcmp(a->waker, b->waker, sizeof(a->waker)) &&
	       !memcmp(a->places, b->places, places_bytes(a->n));
}

static uint64_t hash_trace(const struct trace *t)
{
	uint64_t hash = hash_words(t->waker, ARRAY_SIZE(t->waker));

	hash = hash_add(hash, (uint64_t)t->kind << 32 | t->reason);
	for (uint32_t i = 0; i < t->n; i++)
		hash = hash_add(hash, (uintptr_t)t->places[i]);
	return hash;
}

static void release_places(struct traces *traces, const struct trace *trace)
{
	for (uint32_t i = 0; i < trace->n; i++)
		places_release(traces->places, trace->places[i]);
}

static struct trace *add_trace(struct traces *traces, const struct trace *draft, uint64_t id)
{
	struct trace *trace = mem_zalloc(1, sizeof(*trace) + places_bytes(draft->n));

	memcpy(trace, draft, sizeof(*draft) + places_bytes(draft->n));
	trace->id = id;
	if (draft->flaw.file)
		trace->flaw.file = trace->file = mem_strdup(draft->flaw.file);
	hashtable_add(&traces->table, &trace->link, id);
	return trace;
}

/*
 * Returns the interned stack with the same locations, or a copy of this one, which takes them over.
 */
static struct trace *intern_trace(struct traces *traces, const struct trace *draft)
{
	uint64_t id = hash_trace(draft) | STACK_ID_FOLDED;
	struct trace *trace;

	while ((trace = find_id(traces, id)) && !is_same(trace, draft))
		id = (id + 1) | STACK_ID_FOLDED;
	if (trace)
		release_places(traces, draft);
	else
		trace = add_trace(traces, draft, id);
	trace->used = traces->age.epoch;
	return trace;
}

static bool is_return_address(const struct stack_def *def, uint32_t i)
{
	return i > 0 &&
	       !stack_is_exact(def->words[i]); // cppcheck-suppress arrayIndexOutOfBoundsCond
}

static void locate(struct traces *traces, const struct stack_def *def, uint32_t n,
		   struct place *places)
{
	struct location locations[STACK_DEPTH];
	uint64_t addrs[STACK_DEPTH] = { 0 };

	for (uint32_t i = 0; i < n; i++)
		addrs[i] = stack_address(def->words[i]);
	usyms_locate(traces->usyms, (pid_t)def->tgid, def->generation, def->time_ns, addrs, n,
		     locations);
	for (uint32_t i = 0; i < n; i++) {
		places[i] = (struct place){ .location = locations[i],
					    .is_return = is_return_address(def, i) };
		usyms_settle(&places[i].location, places[i].is_return, def->map_size);
	}
}

/* Finds the stack's flaw, and marks code made by a known runtime. */
static void find_flaw(struct traces *traces, const struct stack_def *def, uint32_t n,
		      struct place *places, struct stack_flaw *flaw)
{
	*flaw = stack_flaw_find(traces->processes, def, places, n);
	for (uint32_t i = 0; flaw->runtime && i < n; i++)
		places[i].is_made = usyms_is_made(&places[i].location);
}

static uint32_t find_user(struct traces *traces, const struct stack_def *def, struct place *places,
			  struct stack_flaw *flaw)
{
	struct place native[STACK_DEPTH];
	uint32_t n = stack_count_native(def);
	bool has_functions = n < def->n_words;

	locate(traces, def, n, has_functions ? native : places);
	find_flaw(traces, def, n, has_functions ? native : places, flaw);
	return has_functions ? merge_functions(traces->meanings, def, native, places) : n;
}

/* A return address is in the call before it. */
static uint32_t find_kernel(const struct stack_def *def, struct place *places)
{
	for (uint32_t i = 0; i < def->n_words; i++)
		places[i] = (struct place){ .location.offset = def->words[i],
					    .is_kernel = true,
					    .is_return = i > 0 };
	return def->n_words;
}

static void take_places(struct traces *traces, const struct stack_def *def, struct trace *draft)
{
	struct place places[STACK_WORDS];

	draft->n = def->kind == STACK_USER ? find_user(traces, def, places, &draft->flaw)
					   : find_kernel(def, places);
	for (uint32_t i = 0; i < draft->n; i++) {
		draft->places[i] = places_get(traces->places, &places[i]);
		if (places[i].location.made) /* valid for this size of its perf map */
			place_look_up(traces->places, draft->places[i]);
	}
}

/* Returns the meanings of functions' words, to be filled in. */
static struct meanings *traces_meanings(struct traces *traces)
{
	return traces->meanings;
}

/*
 * Returns the interned stack of a definition; user addresses are located at once, while their
 * process is alive.
 */
static struct trace *traces_add(struct traces *traces, const struct stack_def *def)
{
	struct trace *draft = mem_zalloc(1, sizeof(*draft) + places_bytes(def->n_words)), *trace;

	draft->kind = def->kind;
	draft->reason = def->reason;
	if (def->kind == STACK_WAKER)
		memcpy(draft->waker, def->words, sizeof(draft->waker));
	else
		take_places(traces, def, draft);
	trace = intern_trace(traces, draft);
	free(draft);
	return trace;
}

static struct trace *traces_add_waker(struct traces *traces, const uint64_t words[WAKER_WORDS])
{
	struct trace draft = { .kind = STACK_WAKER };

	memcpy(draft.waker, words, sizeof(draft.waker));
	return intern_trace(traces, &draft);
}

static void traces_preload(struct traces *traces, pid_t pid, uint32_t generation)
{
	usyms_preload(traces->usyms, pid, generation);
}

/* Releases interned stacks by age, unless a definition has them. */
static void release(struct hashlink *link, void *arg)
{
	struct trace *trace = container_of(link, struct trace, link);
	struct traces *traces = arg;

	if (trace->n_users || !cache_lets_go(&traces->age, trace->used))
		return;
	hashtable_remove(&traces->table, link);
	release_places(traces, trace);
	free_trace(trace);
}

static void look_up_leaving(void *arg)
{
	places_look_up_leaving(((struct traces *)arg)->places);
}

/* Interned stacks keep the names that they have, and get those of files to be closed. */
static void traces_tick(struct traces *traces, uint64_t now_ns)
{
	bool is_over = now_ns - traces->epoch_ns >= EPOCH_NS;

	if (!is_over && !usyms_is_full(traces->usyms))
		return;
	traces->epoch += is_over;
	traces->epoch_ns = is_over ? now_ns : traces->epoch_ns;
	usyms_age(traces->usyms, traces->epoch, look_up_leaving, traces);
}

/* Ages interned stacks: in between, counts may refer to them. */
static void traces_end_report(struct traces *traces)
{
	cache_begin_age(&traces->age, traces->epoch, traces->table.count, MANY_TRACES);
	hashtable_visit(&traces->table, release, traces);
	cache_end_age(&traces->age, traces->table.count);
	places_end_report(traces->places); /* frames are freed before their images */
	usyms_end_report(traces->usyms);
}

/* ---- frames ---- */

static struct dso_stats traces_stats(const struct traces *traces)
{
	return usyms_stats(traces->usyms);
}

static void traces_look_up(struct traces *traces, void (*meanwhile)(void *arg), void *arg)
{
	places_look_up(traces->places, meanwhile, arg);
}

/*
 * The one place where the tracer's own frames, which lie on top of a kernel stack, are trimmed: its
 * programs with all they call, and below them what the kernel runs them with.
 */
static uint32_t count_tracer_frames(const struct trace *trace)
{
	uint32_t first = trace->n;

	while (first > 0 && !trace->places[first - 1]->is_own)
		first--;
	while (first < trace->n && ksym_is_tracer(trace->places[first]->frames[0]->name))
		first++;
	return first;
}

static void look_up(struct traces *traces, struct trace *trace)
{
	bool is_answered = true;

	for (uint32_t i = 0; i < trace->n; i++) {
		place_look_up(traces->places, trace->places[i]);
		is_answered &= !trace->places[i]->is_unanswered;
	}
	if (trace->kind == STACK_KERNEL && !trace->is_trimmed)
		trace->n_trimmed = count_tracer_frames(trace);
	trace->is_trimmed = is_answered;
}

static void list_frame(struct traces *traces, size_t n, const struct frame *frame)
{
	traces->frames = mem_grow(traces->frames, n, &traces->frames_cap, sizeof(*traces->frames));
	traces->frames[n] = frame;
}

/*
 * Returns its frames root first, of traces_frame_table(); the list is valid until the next call.
 * Locations, and functions inlined at one, are leaf first.
 */
static const struct frame *const *trace_frames(struct traces *traces, struct trace *trace,
					       size_t *n)
{
	look_up(traces, trace);
	*n = 0;
	list_frame(traces, *n, NULL); /* so that an empty list is not NULL */
	for (uint32_t i = trace->n; i-- > trace->n_trimmed;) {
		const struct known_place *place = trace->places[i];

		for (size_t k = place->n_frames; k-- > 0;)
			list_frame(traces, (*n)++, place->frames[k]);
	}
	return traces->frames;
}

/* ---- stackdefs ---- */

/*
 * Number of drains after a process's exit until nothing of it can be counted any more: the last
 * waits of its threads may be counted late, by the threads that they have woken up.
 */
#define TURNS_KEPT 2

/*
 * For live processes: number of drains without a count, then as many without being sent again; or
 * of windows, of which the last may begin while BPF still has an id that is to be sent again.
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

void stackdefs_add_function(struct stackdefs *defs, const struct runtime_def *def, size_t size)
{
	meanings_add(traces_meanings(defs->traces), def, size);
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
 * Its pid may be reused, by another owner. Even if all its stacks have been released, its
 * functions' words remain.
 */
void stackdefs_end_process(struct stackdefs *defs, pid_t pid)
{
	struct owner *owner = find_owner(defs, pid);

	if (!owner && meanings_knows(traces_meanings(defs->traces), pid))
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
	owner = get_owner(defs, (pid_t)def->tgid); /* 0: the kernel, which never exits */
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

static void release_owner(struct stackdefs *defs, struct owner *owner,
			  void (*forgotten)(uint64_t id, void *arg), void *arg)
{
	for (struct definition *d = owner->first, *next; d; d = next) {
		next = d->next;
		forgotten(d->id, arg);
		free_known(defs, d);
	}
	if (!find_owner(defs, owner->pid)) /* otherwise the pid has been reused already */
		meanings_forget(traces_meanings(defs->traces), owner->pid);
	free(owner);
}

struct forgetting {
	struct stackdefs *defs;
	void (*forgotten)(uint64_t id, void *arg);
	void *arg;
};

/*
 * First makes BPF send the definition again if its stack recurs; only after some drains without
 * that can nothing be counted under its id any more.
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
		release_owner(defs, owner, forgotten, arg);
	}
}

void stackdefs_tick(struct stackdefs *defs, uint64_t now_ns)
{
	traces_tick(defs->traces, now_ns);
}

void stackdefs_end_report(struct stackdefs *defs, uint64_t now_ns)
{
	traces_end_report(defs->traces);
	traces_tick(defs->traces, now_ns);
}

/* ---- frames and wakers ---- */

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
